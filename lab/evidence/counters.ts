/** Everything that counts packets on a host, at one moment, and what moved between two moments. */
import { z } from 'zod';
import type { Host } from '../backends/host.ts';
import { type ConntrackEntry, parseConntrack } from './conntrack-entries.ts';
import { type CounterReading, parseNftCounters } from './nft-counters.ts';
import type { Count, CounterRow, CounterTable } from './results.ts';
import { sectionScript, splitSections } from './sections.ts';

export type { ConntrackEntry, ConntrackTuple } from './conntrack-entries.ts';
export type { CounterReading } from './nft-counters.ts';

export interface DeviceAddress {
  device: string;
  address: string;
}

export interface CounterSnapshot {
  host: string;
  counters: CounterReading[];
  /** IPv4 addresses, which say whose device a packet was sent to. */
  addresses: DeviceAddress[];
  conntrack: ConntrackEntry[];
}

/** The devices whose statistics tell where a packet went: kuport's links, the CNI's tunnel, the mesh. */
const COUNTED_DEVICES = /^(kup-.*|cilium_vxlan|wt0)$/;

// The kernel's own list is the same and takes 4 ms where the command takes 25; not every kernel has it.
const conntrackCommand = '[ -r /proc/net/nf_conntrack ] && cat /proc/net/nf_conntrack || conntrack -L -o extended';

const LINKS = { name: 'links', command: 'ip -json -s address' };

const COMMANDS = {
  everything: [
    { name: 'nft-json', command: 'nft -j list ruleset' },
    { name: 'nft-text', command: 'nft -a list ruleset' },
    LINKS,
    { name: 'conntrack', command: conntrackCommand },
  ],
  // A third of the time; a node may have no such table.
  kuport: [
    { name: 'nft-json', command: 'nft -j list table ip kuport 2>/dev/null || echo \'{"nftables":[]}\'' },
    { name: 'nft-text', command: 'nft -a list table ip kuport 2>/dev/null || true' },
    LINKS,
    { name: 'conntrack', command: conntrackCommand },
  ],
  connections: [LINKS, { name: 'conntrack', command: conntrackCommand }],
};

/** What is looked at: all rules, those of kuport's own table, or none, each with links and tracked connections. */
export type SnapshotScope = keyof typeof COMMANDS;

/**
 * Reads all counters of a host in one process there.
 * @throws Error naming host, command and stderr when one of the commands fails: half a snapshot would compare as zeros.
 */
export async function snapshotCounters(
  host: Pick<Host, 'name' | 'exec'>,
  scope: SnapshotScope = 'everything',
): Promise<CounterSnapshot> {
  const commands = COMMANDS[scope];
  const result = await host.exec(['sh', '-s'], { input: sectionScript(commands) });
  const sections = splitSections(result.stdout);
  const output = (name: string): string => {
    const section = sections.get(name);
    if (section?.code === 0) return section.stdout;
    const command = commands.find((each) => each.name === name)?.command;
    const stderr = result.stderr.trim();
    throw new Error(`${host.name}: \`${command}\` exited ${section?.code ?? 'without a word'}: ${stderr}`);
  };
  return {
    host: host.name,
    counters: [
      ...(scope === 'connections' ? [] : parseNftCounters(output('nft-json'), output('nft-text'))),
      ...parseLinkCounters(output('links')),
    ],
    addresses: parseAddresses(output('links')),
    conntrack: parseConntrack(output('conntrack')),
  };
}

const linkList = z.array(
  z.looseObject({
    ifname: z.string(),
    addr_info: z.array(z.looseObject({ family: z.string(), local: z.string().optional() })).default([]),
    stats64: z.object({
      rx: z.looseObject({ packets: z.number(), bytes: z.number(), errors: z.number(), dropped: z.number() }),
      tx: z.looseObject({
        packets: z.number(),
        bytes: z.number(),
        errors: z.number(),
        dropped: z.number(),
        collisions: z.number(),
      }),
    }),
  }),
);

/** IPv4 addresses of all devices from `ip -json -s address`. */
function parseAddresses(json: string): DeviceAddress[] {
  return linkList
    .parse(JSON.parse(json))
    .flatMap(({ ifname, addr_info }) =>
      addr_info.flatMap(({ family, local }) =>
        family === 'inet' && local !== undefined ? [{ device: ifname, address: local }] : [],
      ),
    );
}

/** Statistics of the counted devices from `ip -json -s address`. */
export function parseLinkCounters(json: string): CounterReading[] {
  return linkList.parse(JSON.parse(json)).flatMap(({ ifname, stats64: { rx, tx } }) => {
    if (!COUNTED_DEVICES.test(ifname)) return [];
    const reading = (subject: string, packets: number, bytes: number | null = null): CounterReading => ({
      kind: 'link',
      place: ifname,
      subject,
      packets,
      bytes,
    });
    return [
      reading('received', rx.packets, rx.bytes),
      reading('sent', tx.packets, tx.bytes),
      reading('rx errors', rx.errors),
      reading('rx dropped', rx.dropped),
      reading('tx errors', tx.errors),
      reading('tx dropped', tx.dropped),
      reading('collisions', tx.collisions),
    ];
  });
}

const identity = (reading: CounterReading): string => JSON.stringify([reading.kind, reading.place, reading.subject]);

/** All counters of two snapshots side by side; one that is missing in either counts as zero there. */
export function compare(before: CounterSnapshot, after: CounterSnapshot): CounterRow[] {
  const earlier = new Map(before.counters.map((reading) => [identity(reading), reading]));
  const later = new Map(after.counters.map((reading) => [identity(reading), reading]));
  const count = (reading: CounterReading | undefined, bytesCounted: boolean): Count => ({
    packets: reading?.packets ?? 0,
    bytes: bytesCounted ? (reading?.bytes ?? 0) : null,
  });
  return [...new Map([...later, ...earlier]).entries()].map(([key, reading]) => ({
    kind: reading.kind,
    place: reading.place,
    subject: reading.subject,
    ...(reading.text === undefined ? {} : { text: reading.text }),
    before: count(earlier.get(key), reading.bytes !== null),
    after: count(later.get(key), reading.bytes !== null),
  }));
}

/** The counters that moved, up or down: what a report shows. */
export function difference(before: CounterSnapshot, after: CounterSnapshot): CounterTable {
  return { host: after.host, rows: compare(before, after).filter(hasMoved) };
}

export function hasMoved(row: CounterRow): boolean {
  return row.before.packets !== row.after.packets || row.before.bytes !== row.after.bytes;
}

export interface CounterQuery {
  kind?: CounterReading['kind'];
  /** Whole text, or a pattern. */
  place?: string | RegExp;
  subject?: string | RegExp;
}

/**
 * How many packets (nat chains: connections) the matching counters moved by, all together.
 * @throws Error when no counter of either snapshot matches: "it did not move" is no finding about a rule that is not there.
 */
export function packetsBetween(before: CounterSnapshot, after: CounterSnapshot, query: CounterQuery): number {
  const rows = compare(before, after);
  const matches = (pattern: string | RegExp | undefined, text: string): boolean =>
    pattern === undefined || (typeof pattern === 'string' ? pattern === text : pattern.test(text));
  const found = rows.filter(
    (row) =>
      (query.kind === undefined || row.kind === query.kind) &&
      matches(query.place, row.place) &&
      matches(query.subject, row.subject),
  );
  if (found.length === 0) {
    const places = [...new Set(rows.map((row) => row.place))].join('; ');
    const wanted = Object.entries(query).map(([name, value]) => `${name} ${String(value)}`);
    throw new Error(
      `${after.host}: no counter with ${wanted.join(', ')}; there are counters in: ${places || 'no place'}`,
    );
  }
  return found.reduce((sum, row) => sum + row.after.packets - row.before.packets, 0);
}
