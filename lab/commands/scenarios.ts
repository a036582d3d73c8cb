/** `lab scenarios`: boots a lab, runs scenarios, writes the report, takes the lab down. */
import { rm } from 'node:fs/promises';
import { pictureOf } from '../evidence/picture-of.ts';
import { writeReport } from '../evidence/report.ts';
import { type Run, type ScenarioResult, summarise } from '../evidence/results.ts';
import type { Lab } from '../lab.ts';
import { discoverScenarios } from '../scenario/discover.ts';
import { runScenarios } from '../scenario/runner.ts';
import { formatDuration } from '../terminal/duration.ts';
import { Progress, type Step } from '../terminal/progress.ts';
import { printScenarioTable, summaryLine } from '../terminal/scenario-table.ts';
import { openTerminal } from '../terminal/terminal.ts';
import { loadTopology } from '../topology/load.ts';
import type { BackendOptions } from './backend-options.ts';
import { boot, SetUpError } from './boot.ts';
import { combineVersions, readNodeVersions } from './versions.ts';

export interface ScenariosOptions {
  topology: string;
  name: string;
  filters: string[];
  /** Folder the report is written to. */
  report: string;
  list: boolean;
  json: boolean;
  backend: BackendOptions;
}

/** Boots a lab, runs scenarios on it, takes it down and writes the report. @returns what came of it */
export async function runLab(
  options: Omit<ScenariosOptions, 'list' | 'json'>,
  progress: Progress,
): Promise<{ run: Run; page: string }> {
  const scenarios = await discoverScenarios(options.filters);
  const topology = loadTopology(options.topology);
  const startedAt = new Date().toISOString();
  await rm(options.report, { recursive: true, force: true });

  let lab: Lab | null = null;
  let results: ScenarioResult[] = [];
  let setUpFailure: SetUpError | null = null;
  try {
    lab = await boot({ name: options.name, topology }, options.backend, progress, options.report);
    let step: Step | null = null;
    results = await runScenarios(lab, scenarios, {
      reportFolder: options.report,
      onStart: ({ name }) => {
        step = progress.start(name);
      },
      onResult: ({ verdict, reason = '' }) => {
        if (verdict === 'passed') step?.done();
        else step?.fail(`${verdict}: ${reason.split('\n')[0]}`);
      },
    });
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    setUpFailure = error;
  }
  const run: Run = {
    startedAt,
    topology: pictureOf(topology, lab?.state.wireguard ?? null),
    backend: options.backend.backend,
    versions:
      lab === null
        ? { kernel: '', nft: '', iproute2: '', wireguard: '', node: process.versions.node }
        : combineVersions(await readNodeVersions(lab)),
    phases: [
      ...(lab?.state.phases ?? []),
      { name: 'scenarios', milliseconds: results.reduce((sum, each) => sum + each.milliseconds, 0) },
    ],
    scenarios: results,
    ...(setUpFailure === null
      ? {}
      : {
          setupFailure: {
            message: setUpFailure.message,
            ...(setUpFailure.evidenceFolder === null ? {} : { evidenceFolder: setUpFailure.evidenceFolder }),
          },
        }),
  };
  await lab?.down();
  const { page } = await writeReport(options.report, run);
  return { run, page };
}

/** @returns exit status: 0 when all passed, 1 when not */
export async function scenariosCommand(options: ScenariosOptions): Promise<number> {
  const terminal = openTerminal(options.json ? process.stderr : process.stdout);
  if (options.list) {
    for (const { name, sentence, ownKernels } of await discoverScenarios(options.filters))
      process.stdout.write(
        `${name.padEnd(32)} ${sentence}${ownKernels === undefined ? '' : ` (needs --backend vm)`}\n`,
      );
    return 0;
  }
  const begin = performance.now();
  const { run, page } = await runLab(options, new Progress(terminal));
  const summary = summarise(run);
  if (options.json) process.stdout.write(`${JSON.stringify({ summary, ...run })}\n`);
  terminal.line();
  printScenarioTable(terminal, run.scenarios, options.report);
  terminal.line();
  if (run.setupFailure !== undefined)
    terminal.line(terminal.colours.red(`the lab did not come up: ${run.setupFailure.message}`));
  terminal.line(`report: ${page}   took ${formatDuration(performance.now() - begin)} in all`);
  terminal.line(summaryLine(summary));
  return summary.ok ? 0 : 1;
}
