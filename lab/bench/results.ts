/** What was measured as a table, and which goals were met. */
import { formatTable } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { Measured } from './bench.ts';
import type { LoadResult } from './load.ts';

export interface Goal {
  what: string;
  limit: string;
  seen: string;
  isMet: boolean;
}

const mebibyte = 1024 * 1024;

export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}

const loadsOf = (measured: Measured, key: keyof LoadResult): number[] => measured.loads.map((load) => load[key]);

/** Median and, in parentheses, lowest and highest. */
function spread(values: readonly number[], digits = 0): string {
  const text = (value: number): string => value.toFixed(digits);
  return `${text(median(values))} (${text(Math.min(...values))}-${text(Math.max(...values))})`;
}

/**
 * The middle of what each round gave in comparison with the same round of the lab with the fewest mappings: what the
 * machine did meanwhile has slowed both.
 */
function ratio(measured: Measured, base: Measured, key: keyof LoadResult): number {
  const others = loadsOf(base, key);
  return median(loadsOf(measured, key).map((value, round) => value / (others[round] ?? Number.NaN)));
}

const percent = (value: number): string => `${(100 * value).toFixed(0)}%`;

export function resultsTable(terminal: Terminal, results: readonly Measured[]): string {
  const [base] = results;
  if (base === undefined) return '';
  const right = (title: string) => ({ title, align: 'right' as const });
  const traffic = (each: Measured, key: keyof LoadResult, digits = 0): string =>
    `${spread(loadsOf(each, key), digits)} ${percent(ratio(each, base, key))}`;
  return formatTable(
    terminal,
    ['', ...results.map((each) => `${each.mappings} mappings`)].map((title, n) => (n === 0 ? { title } : right(title))),
    [
      ['start to ready, ms', ...results.map((each) => spread(each.starts.map((start) => start.readyMs)))],
      ['full apply, ms', ...results.map((each) => spread(each.starts.map((start) => start.applyMs)))],
      ['one change, p50, ms', ...results.map((each) => quantile(each.changes, 0.5).toFixed(0))],
      ['one change, p99, ms', ...results.map((each) => quantile(each.changes, 0.99).toFixed(0))],
      ['round trip, ms', ...results.map((each) => traffic(each, 'roundTripMs', 3))],
      ['packets per second', ...results.map((each) => traffic(each, 'packetsPerSecond'))],
      ['new connections per second', ...results.map((each) => traffic(each, 'connectionsPerSecond'))],
      ['memory of the agent, MiB', ...results.map((each) => (each.residentBytes / mebibyte).toFixed(0))],
    ],
  );
}

/** Slower than this share of the smallest lab's is measurably slower: rounds of one and the same lab differ by as much. */
const noise = 0.95;

/** The goals, as far as labs of the size they speak of were measured. */
export function goals(results: readonly Measured[]): Goal[] {
  const [base] = results;
  const of = (mappings: number): Measured | undefined => results.find((each) => each.mappings === mappings);
  const [thousand, most] = [of(1000), of(5000)];
  const found: Goal[] = [];
  const atMost = (what: string, seen: number, limit: number, unit: string): void => {
    found.push({ what, limit: `< ${limit} ${unit}`, seen: `${seen.toFixed(0)} ${unit}`, isMet: seen < limit });
  };
  if (thousand !== undefined) atMost('one change at 1,000 mappings, p99', quantile(thousand.changes, 0.99), 50, 'ms');
  if (most !== undefined && base !== undefined) {
    atMost('full apply of 5,000', median(most.starts.map((start) => start.applyMs)), 2000, 'ms');
    for (const [what, key] of [
      ['packets per second at 5,000', 'packetsPerSecond'],
      ['new connections per second at 5,000', 'connectionsPerSecond'],
    ] as const) {
      const seen = ratio(most, base, key);
      found.push({
        what,
        limit: `>= ${percent(noise)} of those at ${base.mappings}`,
        seen: percent(seen),
        isMet: seen >= noise,
      });
    }
    atMost('memory at 5,000', most.residentBytes / mebibyte, 110, 'MiB');
    atMost('start to ready at 5,000', median(most.starts.map((start) => start.readyMs)), 1000, 'ms');
  }
  return found;
}

export function goalsTable(terminal: Terminal, found: readonly Goal[]): string {
  const { green, yellow } = terminal.colours;
  return formatTable(
    terminal,
    [{ title: 'Goal' }, { title: 'Limit' }, { title: 'Seen' }, { title: '' }],
    found.map(({ what, limit, seen, isMet }) => [what, limit, seen, isMet ? green('met') : yellow('missed')]),
  );
}
