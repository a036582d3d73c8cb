/** What a scenario file exports. */
import type { ScenarioContext } from './context.ts';

export interface Scenario {
  /** What a passing run proves, as one sentence a user would understand. */
  sentence: string;
  /**
   * What must be real for it to mean anything: nodes with a kernel of their own, whose clock and global limits may be
   * changed. Where that is not so, it is skipped and says so. Default: anything will do.
   */
  needs?: 'own kernels';
  /** Milliseconds until the scenario is given up. Default 30 000. */
  timeoutMs?: number;
  run(context: ScenarioContext): Promise<void>;
}

/** Identity with a type: lets a scenario file be just its default export. */
export function scenario(definition: Scenario): Scenario {
  return definition;
}
