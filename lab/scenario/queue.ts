/** What is to be run, in which order, and who takes the next one: labs side by side draw from one queue. */
import { random, shuffled } from '../random.ts';
import type { NamedScenario } from './discover.ts';

export interface QueuedScenario {
  scenario: NamedScenario;
  /** 1 for the first time round. */
  round: number;
}

export interface QueueOptions {
  /** How many times the whole list is run. */
  repeat: number;
  /** Undefined for the order of names. */
  seed?: number | undefined;
  /** Labs that draw from the queue. */
  jobs: number;
}

/**
 * Each round is in another order when there is a seed. Without one, labs side by side take first what may take long:
 * begun last, it would be waited for by all the others.
 */
export function queueOf(scenarios: readonly NamedScenario[], { repeat, seed, jobs }: QueueOptions): QueuedScenario[] {
  const draw = seed === undefined ? undefined : random(seed);
  const inOrder =
    jobs > 1 ? [...scenarios].sort((one, other) => (other.timeoutMs ?? 0) - (one.timeoutMs ?? 0)) : scenarios;
  return Array.from({ length: repeat }, (_, index) =>
    (draw === undefined ? inOrder : shuffled(inOrder, draw)).map((scenario) => ({ scenario, round: index + 1 })),
  ).flat();
}
