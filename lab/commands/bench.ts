/** `lab bench`: what mappings cost, by how many there are. */
import { type BenchPlan, runBench } from '../bench/bench.ts';
import { goals, goalsTable, resultsTable } from '../bench/results.ts';
import { preflight } from '../preflight/preflight.ts';
import { openTerminal } from '../terminal/terminal.ts';
import { loadTopology } from '../topology/load.ts';

export interface BenchOptions {
  rounds: number;
  counts: readonly number[];
  json: boolean;
}

const plan: Omit<BenchPlan, 'rounds'> = { starts: 3, changes: 100, trafficMs: 700 };

/** @returns exit status: 0 when every goal was met, else 3 */
export async function benchCommand({ rounds, counts, json }: BenchOptions): Promise<number> {
  const progress = openTerminal(json ? process.stderr : process.stdout);
  await preflight({ install: true, say: (line) => progress.line(line) });
  const begin = performance.now();
  const results = await runBench(loadTopology('home-edge'), counts, { ...plan, rounds }, (line) =>
    progress.line(`${((performance.now() - begin) / 1000).toFixed(0).padStart(4)} s  ${line}`),
  );
  const found = goals(results);
  if (json) process.stdout.write(`${JSON.stringify({ results, goals: found }, null, 2)}\n`);
  else {
    progress.line();
    progress.line(resultsTable(progress, results));
    progress.line('Median (lowest-highest); percentages: of the same round with the fewest mappings.');
    progress.line();
    progress.line(goalsTable(progress, found));
  }
  return found.every((goal) => goal.isMet) ? 0 : 3;
}
