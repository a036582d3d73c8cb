/** Elements of the table's sets and maps as text for `nft -f -`, and the step from one state of a set to another. */
import { createHash } from 'node:crypto';
import type { Delivery } from '../plan/node-plan.ts';

export const tableName = 'kuport';

/** Longest comment nft takes, in bytes. */
const commentLimit = 128;

export interface Counter {
  packets: number;
  bytes: number;
}

export interface Element {
  /** What a map leads to. */
  value?: string;
  comment?: string;
  /** What it has counted; a new element that carries one goes on counting from there. */
  counter?: Counter;
}

/** By key. A key or value is what stands between the braces of `add element`. */
export type Elements = Map<string, Element>;

/** A comment nft takes: shortened in the middle, with a hash to tell apart what was cut. */
export function elementComment(text: string): string {
  if (Buffer.byteLength(text) <= commentLimit) return text;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8);
  return `${text.slice(0, 60)}~${hash}~${text.slice(-50)}`;
}

export function portText({ port, endPort }: Pick<Delivery, 'port' | 'endPort'>): string {
  return port === endPort ? String(port) : `${port}-${endPort}`;
}

function elementText([key, { value, comment, counter }]: [string, Element]): string {
  return [
    key,
    ...(counter === undefined ? [] : [`counter packets ${counter.packets} bytes ${counter.bytes}`]),
    ...(comment === undefined ? [] : [`comment "${comment}"`]),
    ...(value === undefined ? [] : [`: ${value}`]),
  ].join(' ');
}

export function addElements(set: string, elements: Elements): string[] {
  if (elements.size === 0) return [];
  return [
    `add element ip ${tableName} ${set} {`,
    [...elements].map((each) => `  ${elementText(each)}`).join(',\n'),
    '}',
  ];
}

/** Elements that the other lacks or holds with another value or comment. */
export function differing(elements: Elements, other: Elements): Elements {
  return new Map(
    [...elements].filter(([key, { value, comment }]) => {
      const there = other.get(key);
      return there === undefined || there.value !== value || there.comment !== comment;
    }),
  );
}

/** Lines of a transaction that turns one state of a set into another: no other element is touched. */
export function elementChanges(set: string, from: Elements, to: Elements): string[] {
  const gone = differing(from, to);
  return [
    ...(gone.size === 0 ? [] : [`delete element ip ${tableName} ${set} { ${[...gone.keys()].join(', ')} }`]),
    ...addElements(set, differing(to, from)),
  ];
}
