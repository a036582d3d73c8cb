/** How a run went, in the terminal: the table, the reasons, and the one line that scripts look for. */
import type { ScenarioResult, Verdict } from '../evidence/results.ts';
import { byScenario } from '../evidence/rounds.ts';
import { formatDuration } from './duration.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/**
 * Scenario, verdict, time and what it proves; below the table the reason of each that did not pass.
 * @param reportFolder where the report is, as the user would type it: evidence is named from there
 */
export function printScenarioTable(
  terminal: Terminal,
  results: readonly ScenarioResult[],
  reportFolder = 'out/report',
): void {
  const { colours } = terminal;
  const paint: Record<Verdict, (text: string) => string> = {
    passed: colours.green,
    failed: colours.red,
    error: colours.yellow,
    skipped: colours.dim,
  };
  const rows = byScenario(results).map(({ worst, all, passed, milliseconds }) => [
    worst.name,
    paint[worst.verdict](all === 1 ? worst.verdict : `${passed} of ${all} passed`),
    worst.verdict === 'skipped' && passed === 0 ? '–' : formatDuration(milliseconds),
    worst.sentence,
  ]);
  terminal.line(
    formatTable(
      terminal,
      [{ title: 'Scenario' }, { title: 'Verdict' }, { title: 'Time', align: 'right' }, { title: 'What it proves' }],
      rows,
    ),
  );
  for (const result of results) {
    if (result.verdict === 'passed') continue;
    terminal.line();
    const reason = result.reason ?? result.failure?.message ?? 'no reason was recorded';
    const where = [
      ...((result.round ?? 1) > 1 ? [`round ${result.round}`] : []),
      ...(result.lab === undefined ? [] : [`lab ${result.lab}`]),
    ];
    terminal.line(
      `${paint[result.verdict](result.verdict)} ${colours.bold(result.name)}${where.length === 0 ? '' : ` (${where.join(', ')})`}: ${reason}`,
    );
    if (result.diagnosis) terminal.line(`  most likely: ${result.diagnosis}`);
    if (result.evidenceFolder) terminal.line(`  evidence: ${reportFolder}/${result.evidenceFolder}/index.txt`);
  }
}

/** `N passed, N failed`, and the skipped where there are some. An error counts as failed: nothing was proven. */
export function summaryLine(counts: { passed: number; failed: number; error?: number; skipped?: number }): string {
  const skipped = counts.skipped ? `, ${counts.skipped} skipped` : '';
  return `${counts.passed} passed, ${counts.failed + (counts.error ?? 0)} failed${skipped}`;
}
