export class ScenarioContext {}
