/** What a scenario file exports. */
import type { ScenarioContext } from './context.ts';

export interface Scenario {
  /** What a passing run proves, as one sentence a user would understand. */
  sentence: string;
  /** Milliseconds until the scenario is given up. Default 30 000. */
  timeoutMs?: number;
  run(context: ScenarioContext): Promise<void>;
}

/** Identity with a type: lets a scenario file be just its default export. */
export function scenario(definition: Scenario): Scenario {
  return definition;
}
