/**
 * Conntrack timeouts of mappings that ask for one. The kernel has no map from a port to a timeout, and one rule sets one
 * timeout of one protocol: hence an object, a set of ports and a rule for each distinct duration, named after protocol
 * and seconds, such as udp-30. A duration that changes is another object: values changed in place have no effect on it
 * (measured). They come and go beside the rest of the table, whose elements, counters and flows stay as they are; the
 * flows of a duration that goes fall back to the host's defaults.
 */
import type { Delivery, Protocol } from '../plan/node-plan.ts';
import { type Elements, elementChanges, elementComment, portText, tableName } from './elements.ts';

/** Chain that holds the rules: after conntrack has seen the packet, before its destination is translated. */
export const idleChain = 'kup-idle';

/** `udp-30` -> the ports whose new flows get it. */
export type IdleTimeouts = Map<string, Elements>;

/** What the kernel holds of them; damaged where the three do not name the same durations. */
export interface ObservedIdleTimeouts {
  objects: string[];
  sets: IdleTimeouts;
  /** Durations of the rules, in order. */
  rules: string[];
}

export const noIdleTimeouts: ObservedIdleTimeouts = { objects: [], sets: new Map(), rules: [] };

const namePattern = '(?:tcp|udp)-\\d+';
const setPrefix = 'idle-';
const rulePrefix = 'idle ';

/** The duration of a set or of a rule's comment; null for another's. */
export function durationOfSet(name: string): string | null {
  return new RegExp(`^${setPrefix}(${namePattern})$`).exec(name)?.[1] ?? null;
}

export function durationOfRule(comment: string): string | null {
  return new RegExp(`^${rulePrefix}(${namePattern})$`).exec(comment)?.[1] ?? null;
}

/** A listing of the table without them: what remains is the skeleton. */
export function withoutIdleTimeouts(listing: string): string {
  return listing
    .replaceAll(/^\tct timeout \S+ \{\n[^}]*\}\n\t\}\n\n?/gm, '')
    .replaceAll(new RegExp(`^\\tset ${setPrefix}${namePattern} \\{\\n[^}]*\\}\\n\\n?`, 'gm'), '')
    .replaceAll(new RegExp(`^\\t\\t.*comment "${rulePrefix}${namePattern}"\\n`, 'gm'), '');
}

export function idleTimeoutsOf(deliveries: readonly Delivery[]): IdleTimeouts {
  const timeouts: IdleTimeouts = new Map();
  for (const delivery of deliveries) {
    const { protocol, idleSeconds, portMap } = delivery;
    if (idleSeconds === null) continue;
    const name = `${protocol.toLowerCase()}-${idleSeconds}`;
    const elements = timeouts.get(name) ?? new Map();
    elements.set(`"${delivery.interface}" . ${portText(delivery)}`, { comment: elementComment(portMap) });
    timeouts.set(name, elements);
  }
  return new Map([...timeouts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What the kernel holds once these have been written. */
export function heldIdleTimeouts(sets: IdleTimeouts): ObservedIdleTimeouts {
  return { objects: [...sets.keys()], sets, rules: [...sets.keys()] };
}

/** UDP: both values, or a flow that was answered would fall back to the default. TCP: of a connection that stands. */
function policy(protocol: Lowercase<Protocol>, seconds: string): string {
  return protocol === 'udp' ? `unreplied : ${seconds}, replied : ${seconds}` : `established : ${seconds}`;
}

function split(name: string): { protocol: Lowercase<Protocol>; seconds: string } {
  const [protocol, seconds = ''] = name.split('-');
  return { protocol: protocol === 'tcp' ? 'tcp' : 'udp', seconds };
}

function objectLine(name: string): string {
  const { protocol, seconds } = split(name);
  return `add ct timeout ip ${tableName} ${name} { protocol ${protocol}; l3proto ip; policy = { ${policy(protocol, seconds)} }; }`;
}

function ruleLine(name: string): string {
  const { protocol } = split(name);
  // A timeout is attached to a flow before its first packet is let through, never after.
  const match = `ct state new iifname . ${protocol} dport @${setPrefix}${name} fib daddr type local`;
  return `add rule ip ${tableName} ${idleChain} ${match} ct timeout set "${name}" comment "${rulePrefix}${name}"`;
}

/** Lines of a transaction from what is there to what is wanted; none when that is the same. */
export function renderIdleTimeouts(have: ObservedIdleTimeouts, want: IdleTimeouts): string[] {
  const names = [...want.keys()];
  const isSame = (there: readonly string[]): boolean => [...there].sort().join() === names.join();
  const there = [...have.sets.keys()];
  const structure =
    isSame(have.objects) && isSame(there) && isSame(have.rules)
      ? []
      : [
          ...(have.rules.length === 0 ? [] : [`flush chain ip ${tableName} ${idleChain}`]),
          ...there.filter((name) => !want.has(name)).map((name) => `delete set ip ${tableName} ${setPrefix}${name}`),
          ...have.objects.filter((name) => !want.has(name)).map((name) => `delete ct timeout ip ${tableName} ${name}`),
          ...names.filter((name) => !have.objects.includes(name)).map(objectLine),
          ...names
            .filter((name) => !have.sets.has(name))
            .map(
              (name) => `add set ip ${tableName} ${setPrefix}${name} { type ifname . inet_service; flags interval; }`,
            ),
          ...names.map(ruleLine),
        ];
  return [
    ...structure,
    ...names.flatMap((name) =>
      elementChanges(`${setPrefix}${name}`, have.sets.get(name) ?? new Map(), want.get(name) ?? new Map()),
    ),
  ];
}

/** The same for a table that has just been made. */
export function renderNewIdleTimeouts(want: IdleTimeouts): string[] {
  return renderIdleTimeouts(noIdleTimeouts, want);
}
