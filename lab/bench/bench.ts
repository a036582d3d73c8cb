/** The bench: labs that differ only in how many mappings their accepting node holds, measured in turns. */
import type { Topology } from '../topology/topology.ts';
import type { LoadResult } from './load.ts';
import { fewestMappings, type Start, Subject } from './subject.ts';

export const mappingCounts: readonly number[] = [fewestMappings, 100, 1000, 5000];

/** Starts per lab, changes per lab, rounds of traffic over all labs. */
export interface BenchPlan {
  starts: number;
  changes: number;
  rounds: number;
  /** Of each of the three kinds of traffic in a round, in milliseconds. */
  trafficMs: number;
}

export interface Measured {
  mappings: number;
  starts: Start[];
  /** Milliseconds, ascending. */
  changes: number[];
  /** One for each round. */
  loads: LoadResult[];
  /** Of the agent, in bytes, at the end. */
  residentBytes: number;
}

/**
 * @param counts mappings, one lab for each; all labs are up at once
 * @param say told what is done
 */
export async function runBench(
  topology: Topology,
  counts: readonly number[],
  plan: BenchPlan,
  say: (line: string) => void,
): Promise<Measured[]> {
  const subjects: Subject[] = [];
  const measured: Measured[] = [];
  try {
    for (const count of counts) {
      subjects.push(await Subject.boot(`bench-${process.pid}-${count}`, topology, count));
      say(`lab with ${count} mappings`);
    }
    for (const subject of subjects) {
      const starts: Start[] = [];
      for (let n = 0; n < plan.starts; n++) starts.push(await subject.start());
      await subject.settled();
      say(`${subject.mappings} mappings: ${plan.starts} starts`);
      measured.push({ mappings: subject.mappings, starts, changes: [], loads: [], residentBytes: 0 });
    }
    for (let round = 0; round < plan.rounds; round++) {
      for (const [n, subject] of subjects.entries()) {
        const load = await subject.load(plan.trafficMs);
        measured[n]?.loads.push(load);
      }
      say(`traffic, round ${round + 1} of ${plan.rounds}`);
    }
    for (const [n, subject] of subjects.entries()) {
      const each = measured[n];
      if (each === undefined) continue;
      for (let change = 0; change < plan.changes; change++) each.changes.push(await subject.change());
      each.changes.sort((a, b) => a - b);
      each.residentBytes = await subject.residentBytes();
      say(`${subject.mappings} mappings: ${plan.changes} changes`);
    }
    return measured;
  } finally {
    await Promise.all(subjects.map((subject) => subject.down()));
  }
}
