/** `lab scenarios`: runs scenarios on a lab of its own or one that is up, and says how they went. */
import { type Run, summarise } from '../evidence/results.ts';
import { byScenario } from '../evidence/rounds.ts';
import { discoverScenarios } from '../scenario/discover.ts';
import { formatDuration } from '../terminal/duration.ts';
import { Progress } from '../terminal/progress.ts';
import { printScenarioTable, summaryLine } from '../terminal/scenario-table.ts';
import { openTerminal, type Terminal } from '../terminal/terminal.ts';
import { type KeptLab, type RunOptions, runOnLabs } from './run-labs.ts';

export interface ScenariosOptions extends RunOptions {
  list: boolean;
  json: boolean;
}

/** How many of the slowest are named. */
const slowestShown = 5;

/** @returns exit status: 0 when all passed, 1 when not */
export async function scenariosCommand(options: ScenariosOptions): Promise<number> {
  const terminal = openTerminal(options.json ? process.stderr : process.stdout);
  if (options.list) {
    await list(options);
    return 0;
  }
  const begin = performance.now();
  const progress = new Progress(terminal);
  if (options.seed !== undefined) progress.line(`order: --shuffle ${options.seed}`);
  const { run, page, kept } = await runOnLabs(options, progress);
  const summary = summarise(run);
  if (options.json) process.stdout.write(`${JSON.stringify({ summary, ...run })}\n`);
  terminal.line();
  printScenarioTable(terminal, run.scenarios, options.report);
  terminal.line();
  if (run.setupFailure !== undefined)
    terminal.line(terminal.colours.red(`the lab did not come up: ${run.setupFailure.message}`));
  for (const each of kept) sayKept(terminal, each);
  terminal.line(slowest(run));
  terminal.line(`report: ${page}   took ${formatDuration(performance.now() - begin)} in all`);
  terminal.line(summaryLine(summary));
  return summary.ok ? 0 : 1;
}

async function list({ filters, json }: ScenariosOptions): Promise<void> {
  const scenarios = await discoverScenarios(filters);
  if (json) {
    const plain = scenarios.map(({ name, sentence, ownKernels = [] }) => ({ name, sentence, ownKernels }));
    process.stdout.write(`${JSON.stringify(plain)}\n`);
    return;
  }
  const width = Math.max(...scenarios.map(({ name }) => name.length));
  for (const { name, sentence, ownKernels } of scenarios)
    process.stdout.write(
      `${name.padEnd(width)}  ${sentence}${ownKernels === undefined ? '' : ` (needs --backend vm)`}\n`,
    );
}

function sayKept(terminal: Terminal, { lab, scenario, nodes: [node = 'HOST'] }: KeptLab): void {
  const { bold } = terminal.colours;
  terminal.line(
    `lab ${bold(lab)} is up as ${scenario.name} left it: lab/bin/lab shell --name ${lab} ${node}   or   lab/bin/lab status --name ${lab}   then   lab/bin/lab down --name ${lab}`,
  );
}

function slowest({ scenarios }: Run): string {
  const slow = byScenario(scenarios)
    .sort((one, other) => other.milliseconds - one.milliseconds)
    .slice(0, slowestShown)
    .map(({ worst, milliseconds }) => `${worst.name} ${formatDuration(milliseconds)}`);
  return `slowest: ${slow.join(', ')}`;
}
