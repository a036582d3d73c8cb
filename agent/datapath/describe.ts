/** A change in few words, for the log. */
import type { Change } from './change.ts';

/** Lines shown of each kind: a first pass over thousands of mappings is one line of the log all the same. */
const shownLines = 12;

function shown(lines: readonly string[]): string[] {
  return lines.length > shownLines
    ? [...lines.slice(0, shownLines), `and ${lines.length - shownLines} more`]
    : [...lines];
}

export function describeChange({ ipBefore, ipAfter, nft, isNewTable }: Change): Record<string, unknown> {
  const ip = [...ipBefore, ...ipAfter];
  const nftLines = nft.split('\n').filter((line) => line !== '' && line !== '}');
  return {
    ...(ip.length === 0 ? {} : { ip: shown(ip) }),
    ...(nft === '' ? {} : { nft: isNewTable ? 'whole table' : shown(nftLines.map((line) => line.trim())) }),
  };
}
