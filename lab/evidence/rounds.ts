/** A run that repeats its scenarios has many results of each: what a reader wants of them is the worst, and how often. */
import type { ScenarioResult, Verdict } from './results.ts';

const badness: Record<Verdict, number> = { passed: 0, skipped: 1, error: 2, failed: 3 };

export interface Rounds {
  /** The first result of the worst verdict. */
  worst: ScenarioResult;
  /** How many results there are, and how many of them passed. */
  all: number;
  passed: number;
  /** The average over all that ran. */
  milliseconds: number;
}

/** One entry per scenario, by name. */
export function byScenario(results: readonly ScenarioResult[]): Rounds[] {
  const names = new Map<string, ScenarioResult[]>();
  for (const result of results) names.set(result.name, [...(names.get(result.name) ?? []), result]);
  return [...names.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, each]) => {
      const [worst] = [...each].sort(
        (one, other) => badness[other.verdict] - badness[one.verdict] || (one.round ?? 1) - (other.round ?? 1),
      );
      if (worst === undefined) return [];
      const ran = each.filter((result) => result.milliseconds > 0);
      return [
        {
          worst,
          all: each.length,
          passed: each.filter((result) => result.verdict === 'passed').length,
          milliseconds: ran.reduce((sum, result) => sum + result.milliseconds, 0) / Math.max(1, ran.length),
        },
      ];
    });
}
