/** What others have undone, told from what a plan newly asks for: a look against what the last pass has left. */
import type { Change } from './change.ts';

export interface Repair {
  /** What was put back: a link (with its addresses), an ip rule, a route, elements of the sets, or the table. */
  subject: 'link' | 'rule' | 'route' | 'elements' | 'table';
  /** The command or object that puts it back, for a line of the log or an event. */
  detail: string;
}

/** Longest detail. */
const shownDetail = 120;

const subjects: Record<string, Repair['subject']> = { link: 'link', addr: 'link', route: 'route', rule: 'rule' };

/** @param change what brings the kernel back to the last plan: empty when nobody has touched it */
export function repairsOf({ ipBefore, ipAfter, loosen, nft, isNewTable }: Change): Repair[] {
  const detail = (text: string): string => text.slice(0, shownDetail);
  return [
    ...[...ipBefore, ...ipAfter].map((line) => ({
      subject: subjects[line.split(' ')[0] ?? ''] ?? 'link',
      detail: detail(`ip ${line}`),
    })),
    ...loosen
      // A link that is made anew is set loose anyway.
      .filter((device) => !ipBefore.some((line) => line.startsWith(`link add ${device} `)))
      .map((device) => ({ subject: 'link' as const, detail: `rp_filter of ${device}` })),
    ...(nft === ''
      ? []
      : isNewTable
        ? [{ subject: 'table' as const, detail: 'table ip kuport' }]
        : [{ subject: 'elements' as const, detail: detail(nft.replaceAll(/\s+/g, ' ').trim()) }]),
  ];
}
