/** Marks of links on a pod's node. They and the tables they select mean something on that node only. */
import { createHash } from 'node:crypto';

/** High half of every mark of kuport's. */
export const markPrefix = 0x6b700000;
export const markPrefixMask = 0xffff0000;

/**
 * Bits of the low half that others read: Cilium 0x0f00, kube-proxy 0xc000 (through 0x4000 and 0x8000), KubeSpan 0x60.
 */
const foreignBits = 0x0f00 | 0xc000 | 0x0060;

/** All low halves that are free, 0 excepted: 255, more than a /24 of /31 links has. */
const lowHalves = Array.from({ length: 0x10000 }, (_, low) => low).filter(
  (low) => low !== 0 && (low & foreignBits) === 0,
);
const validMarks = new Set(lowHalves.map((low) => markPrefix + low));

export function isOwnMark(mark: number): boolean {
  return validMarks.has(mark);
}

/**
 * A mark for each device: the one it has now where that is valid and its own, so that a restart moves no flow, else one
 * found from a hash of its name. The mark is the table's number too: 0x6b70.... is no neighbour's and tells whose it is.
 *
 * @throws RangeError when there are more devices than marks (255)
 */
export function assignMarks(
  devices: readonly string[],
  current: Readonly<Record<string, number>>,
): Map<string, number> {
  if (devices.length > lowHalves.length)
    throw new RangeError(`${devices.length} links on one node, room for ${lowHalves.length}`);
  const assigned = new Map<string, number>();
  const taken = new Set<number>();
  const give = (device: string, mark: number): void => {
    assigned.set(device, mark);
    taken.add(mark);
  };
  const sorted = [...devices].sort();
  for (const device of sorted) {
    const mark = current[device];
    if (mark !== undefined && validMarks.has(mark) && !taken.has(mark)) give(device, mark);
  }
  for (const device of sorted) {
    if (assigned.has(device)) continue;
    let index = createHash('sha256').update(device).digest().readUInt32BE(0) % lowHalves.length;
    while (taken.has(markPrefix + (lowHalves[index] ?? 0))) index = (index + 1) % lowHalves.length;
    give(device, markPrefix + (lowHalves[index] ?? 0));
  }
  return assigned;
}
