/** What a scenario file exports. */
import type { ScenarioContext } from './context.ts';

export interface Scenario {
  /** What a passing run proves, as one sentence a user would understand. */
  sentence: string;
  /**
   * Nodes that must have a kernel of their own for it to mean anything, since it changes clocks or limits that all
   * namespaces share. Where they have not, it is skipped and says so.
   */
  ownKernels?: readonly string[];
  /** Milliseconds until the scenario is given up. Default 30 000. */
  timeoutMs?: number;
  run(context: ScenarioContext): Promise<void>;
}

/** Identity with a type: lets a scenario file be just its default export. */
export function scenario(definition: Scenario): Scenario {
  return definition;
}
