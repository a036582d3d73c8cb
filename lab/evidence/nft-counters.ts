/** Finds every counter in what `nft -j list ruleset` prints: of rules, of named counters, of set and map elements. */
import { z } from 'zod';
import type { CounterKind } from './results.ts';

export interface CounterReading {
  kind: CounterKind;
  /** `ip kuport kup-mangle` for a rule, `ip kuport @ports` for an element, `ip kuport` for a named counter, or a device. */
  place: string;
  /** A rule's comment, else its text; an element's key and comment; a counter's name; what is counted on a device. */
  subject: string;
  /** The rule as nft prints it, without its counter; absent where the subject is all there is. */
  text?: string;
  packets: number;
  /** Null for what is not counted in bytes. */
  bytes: number | null;
}

const counts = z.object({ packets: z.number(), bytes: z.number() });
const inTable = { family: z.string(), table: z.string() };
const ruleset = z.object({
  nftables: z.array(
    z.looseObject({
      rule: z
        .looseObject({
          ...inTable,
          chain: z.string(),
          handle: z.number(),
          comment: z.string().optional(),
          expr: z.array(z.unknown()),
        })
        .optional(),
      counter: z.looseObject({ ...inTable, name: z.string(), ...counts.shape }).optional(),
      set: z.looseObject({ ...inTable, name: z.string(), elem: z.array(z.unknown()).optional() }).optional(),
      map: z.looseObject({ ...inTable, name: z.string(), elem: z.array(z.unknown()).optional() }).optional(),
    }),
  ),
});
const counterStatement = z.looseObject({ counter: counts });
const element = z.looseObject({
  elem: z.looseObject({ val: z.unknown(), comment: z.string().optional(), counter: counts }),
});

/**
 * @param json what `nft -j list ruleset` printed
 * @param listing what `nft -a list ruleset` printed: the rules' texts, found by their handles
 * @throws ZodError when the JSON is not nft's
 */
export function parseNftCounters(json: string, listing: string): CounterReading[] {
  const texts = ruleTexts(listing);
  const readings: CounterReading[] = [];
  for (const { rule, counter, set, map } of ruleset.parse(JSON.parse(json)).nftables) {
    if (counter) {
      const place = `${counter.family} ${counter.table}`;
      readings.push({ kind: 'named counter', place, subject: counter.name, ...pick(counter) });
    }
    const collection = set ?? map;
    for (const entry of collection?.elem ?? []) {
      // A map's entry is the pair [key, value], a set's the key alone.
      const parsed = element.safeParse(Array.isArray(entry) ? entry[0] : entry);
      if (!parsed.success || !collection) continue;
      const { val, comment, counter: elementCounts } = parsed.data.elem;
      const place = `${collection.family} ${collection.table} @${collection.name}`;
      const subject = comment === undefined ? keyText(val) : `${keyText(val)} (${comment})`;
      readings.push({ kind: 'element', place, subject, ...pick(elementCounts) });
    }
    const statement = rule?.expr.map((expr) => counterStatement.safeParse(expr)).find((parsed) => parsed.success);
    if (rule && statement?.success) {
      const place = `${rule.family} ${rule.table} ${rule.chain}`;
      const text = texts.get(`${place} ${rule.handle}`) ?? `rule with handle ${rule.handle}`;
      readings.push({
        kind: 'rule',
        place,
        subject: rule.comment ?? text,
        ...(rule.comment === undefined ? {} : { text }),
        ...pick(statement.data.counter),
      });
    }
  }
  return numberRepeated(readings);
}

function pick({ packets, bytes }: z.infer<typeof counts>): { packets: number; bytes: number } {
  return { packets, bytes };
}

/** `family table chain handle` -> the rule's text without its counter and comment. */
function ruleTexts(listing: string): Map<string, string> {
  const texts = new Map<string, string>();
  let table = '';
  let chain = '';
  for (const line of listing.split('\n')) {
    const tableStart = /^table (\S+ \S+) \{/.exec(line);
    const chainStart = /^\tchain (\S+) \{/.exec(line);
    const rule = /^\t\t(.*) # handle (\d+)$/.exec(line);
    if (tableStart?.[1]) table = tableStart[1];
    else if (chainStart?.[1]) chain = chainStart[1];
    else if (rule?.[1]) texts.set(`${table} ${chain} ${rule[2]}`, bareRule(rule[1]));
  }
  return texts;
}

function bareRule(text: string): string {
  return text
    .replace(/counter packets \d+ bytes \d+/, '')
    .replace(/ comment "(?:[^"\\]|\\.)*"$/, '')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
}

/** An element's key the way nft writes it: `enp1s0 . udp . 3000`, `27015-27115`, `10.0.0.0/8`. */
function keyText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if ('concat' in value && Array.isArray(value.concat)) return value.concat.map(keyText).join(' . ');
  if ('range' in value && Array.isArray(value.range)) return value.range.map(keyText).join('-');
  if ('prefix' in value) {
    const prefix = z.object({ addr: z.unknown(), len: z.number() }).safeParse(value.prefix);
    if (prefix.success) return `${keyText(prefix.data.addr)}/${prefix.data.len}`;
  }
  return JSON.stringify(value);
}

/** Two rules of one chain may carry the same comment: the second is `comment (2)`, in the order of the chain. */
function numberRepeated(readings: readonly CounterReading[]): CounterReading[] {
  const seen = new Map<string, number>();
  return readings.map((reading) => {
    const key = JSON.stringify([reading.kind, reading.place, reading.subject]);
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    return times === 1 ? reading : { ...reading, subject: `${reading.subject} (${times})` };
  });
}
