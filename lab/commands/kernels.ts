/** `lab kernels`: the same scenarios on each of Debian's kernels, and where the verdicts differ. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Run, summarise } from '../evidence/results.ts';
import { projectRoot } from '../project.ts';
import { formatDuration } from '../terminal/duration.ts';
import { Progress } from '../terminal/progress.ts';
import { summaryLine } from '../terminal/scenario-table.ts';
import { formatTable } from '../terminal/table.ts';
import { openTerminal } from '../terminal/terminal.ts';
import { runOnLabs } from './run-labs.ts';

export interface KernelsOptions {
  filters: string[];
  kernel: string[];
  topology: string;
  machines?: string;
}

interface KernelRun {
  kernel: string;
  run: Run;
}

const folder = join(projectRoot, 'out', 'kernels');

/** @returns exit status: 0 when everything passed on every kernel, 1 when not */
export async function kernelsCommand(options: KernelsOptions): Promise<number> {
  const terminal = openTerminal();
  const runs: KernelRun[] = [];
  for (const kernel of options.kernel) {
    const report = join(folder, kernel);
    const { run, page } = await runOnLabs(
      {
        ...{ topology: options.topology, filters: options.filters, report, name: `kernel-${kernel.replace('.', '-')}` },
        backend: {
          ...{ backend: 'vm', kernel, cold: false },
          ...(options.machines === undefined ? {} : { machines: options.machines }),
        },
      },
      new Progress(terminal),
    );
    terminal.line(`kernel ${kernel}: ${summaryLine(summarise(run))}, report ${page}`);
    runs.push({ kernel, run });
  }
  const rows = verdictRows(runs);
  terminal.line();
  terminal.line(
    formatTable(
      terminal,
      ['Scenario', ...runs.map(({ kernel, run }) => `${kernel} (${run.versions.kernel})`)].map((title) => ({ title })),
      rows.map(({ name, cells }) => [name, ...cells]),
    ),
  );
  for (const { name, reasons } of rows) for (const reason of reasons) terminal.line(`${name}: ${reason}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'verdicts.md'), markdown(runs, rows));
  terminal.line(`table: ${join(folder, 'verdicts.md')}`);
  return runs.every(({ run }) => summarise(run).ok) ? 0 : 1;
}

interface VerdictRow {
  name: string;
  /** Verdict and time, per kernel. */
  cells: string[];
  /** Why it did not pass where it did not: `6.1: ...`. */
  reasons: string[];
}

function verdictRows(runs: readonly KernelRun[]): VerdictRow[] {
  const names = [...new Set(runs.flatMap(({ run }) => run.scenarios.map((scenario) => scenario.name)))];
  return names.map((name) => {
    const results = runs.map(({ run }) => run.scenarios.find((scenario) => scenario.name === name));
    return {
      name,
      cells: results.map((result) =>
        result === undefined ? 'not run' : `${result.verdict} ${formatDuration(result.milliseconds)}`,
      ),
      reasons: results.flatMap((result, index) =>
        result?.reason === undefined ? [] : [`${runs[index]?.kernel}: ${result.reason.split('\n')[0]}`],
      ),
    };
  });
}

function markdown(runs: readonly KernelRun[], rows: readonly VerdictRow[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  const head = line(['Scenario', ...runs.map(({ run }) => run.versions.kernel)]);
  const rule = line(['---', ...runs.map(() => '---')]);
  const body = rows.map(({ name, cells }) => line([name, ...cells])).join('');
  const reasons = rows
    .flatMap(({ name, reasons: why }) => why.map((reason) => `- ${name}, kernel ${reason}\n`))
    .join('');
  return `${head}${rule}${body}${reasons === '' ? '' : `\n${reasons}`}`;
}
