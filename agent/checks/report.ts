/** Findings as text for people. */
import { createColors } from 'picocolors';
import type { Finding, FindingStatus } from './finding.ts';

const words: Record<FindingStatus, string> = { ok: 'ok', warning: 'warning', failed: 'FAILED' };

/** The worst of all. */
export function overall(findings: readonly Finding[]): FindingStatus {
  const has = (status: FindingStatus): boolean => findings.some((each) => each.status === status);
  return has('failed') ? 'failed' : has('warning') ? 'warning' : 'ok';
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Narrower than this a column cannot be read. */
const narrowest = 30;

/**
 * A line for each finding, its cure below it, and a sentence at the end.
 * @param width characters of a line
 */
export function reportText(
  findings: readonly Finding[],
  { width, colours }: { width: number; colours: boolean },
): string {
  const colour = createColors(colours);
  const paint: Record<FindingStatus, (text: string) => string> = {
    ok: colour.green,
    warning: colour.yellow,
    failed: colour.red,
  };
  const statusWidth = Math.max(...Object.values(words).map((word) => word.length));
  const checkWidth = Math.max(...findings.map(({ check }) => check.length));
  const indent = statusWidth + checkWidth + 4;
  const rest = Math.max(narrowest, width - indent);
  const lines = findings.flatMap(({ check, status, found, detail, cure }) => {
    const text = wrap(detail === undefined ? found : `${found} (${detail})`, rest);
    const advice = cure === undefined ? [] : wrap(`-> ${cure}`, rest);
    const head = `${paint[status](words[status].padEnd(statusWidth))}  ${check.padEnd(checkWidth)}  ${text[0] ?? ''}`;
    return [head, ...[...text.slice(1), ...advice].map((line) => `${' '.repeat(indent)}${line}`)];
  });
  return `${[...lines, '', summary(findings)].join('\n')}\n`;
}

function summary(findings: readonly Finding[]): string {
  const count = (status: FindingStatus): number => findings.filter((each) => each.status === status).length;
  const [failures, warnings] = [count('failed'), count('warning')];
  const counted = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;
  if (failures > 0) return `not fit for kuport: ${counted(failures, 'failure')}, ${counted(warnings, 'warning')}`;
  return warnings > 0 ? `fit for kuport, with ${counted(warnings, 'warning')}` : 'fit for kuport';
}
