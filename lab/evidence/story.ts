/**
 * Tells one exchange hop by hop from what the hosts hold: each connection tracking entry has the addresses before and
 * after its host's translation, so the entry whose first half is what left the host before is the next hop.
 */
import type { Protocol } from '../station/protocol.ts';
import type { ConntrackEntry, ConntrackTuple } from './conntrack-entries.ts';
import { type CounterSnapshot, compare, hasMoved } from './counters.ts';
import type { CounterRow, CounterTable, Exchange, Hop, PacketAddresses, Story } from './results.ts';

export interface WitnessedHost {
  role: Hop['role'];
  before: CounterSnapshot;
  after: CounterSnapshot;
}

/** What a client sent; the port is 0 where the client could not tell it. */
export interface SentFlow extends ConntrackTuple {
  protocol: Protocol;
}

/** @param hosts routers and nodes, in no order */
export function tellStory(title: string, exchange: Exchange, sent: SentFlow, hosts: readonly WitnessedHost[]): Story {
  const hops: Hop[] = [];
  const waiting = [...hosts];
  let flow: ConntrackTuple = sent;
  for (let next = nextHop(sent.protocol, flow, waiting); next !== null; next = nextHop(sent.protocol, flow, waiting)) {
    waiting.splice(waiting.indexOf(next.host), 1);
    flow = turnedRound(next.entry.reply);
    hops.push(hopOf(next.host, next.entry, flow, hosts));
  }
  const counters = hosts.filter(({ role }) => role === 'node').flatMap((host) => tableOf(host, hops) ?? []);
  return { title, exchange, hops, counters };
}

interface Found {
  host: WitnessedHost;
  entry: ConntrackEntry;
}

/** A router before a node: where nothing is translated on the way, the packet passes the router of a site first. */
function nextHop(protocol: Protocol, flow: ConntrackTuple, hosts: readonly WitnessedHost[]): Found | null {
  const inOrder = [...hosts].sort((one, other) => (one.role === other.role ? 0 : one.role === 'router' ? -1 : 1));
  for (const host of inOrder) {
    const earlier = new Set(host.before.conntrack.map((entry) => identityOf(entry)));
    const entry = host.after.conntrack.find(
      (each) =>
        each.protocol === protocol.toLowerCase() &&
        each.original.source === flow.source &&
        each.original.destination === flow.destination &&
        each.original.destinationPort === flow.destinationPort &&
        (flow.sourcePort === 0 ? !earlier.has(identityOf(each)) : each.original.sourcePort === flow.sourcePort),
    );
    if (entry !== undefined) return { host, entry };
  }
  return null;
}

function identityOf({ protocol, original }: ConntrackEntry): string {
  return JSON.stringify([protocol, original]);
}

/** A reply's addresses are those of the translated request, the other way round. */
function turnedRound({ source, destination, sourcePort, destinationPort }: ConntrackTuple): ConntrackTuple {
  return { source: destination, destination: source, sourcePort: destinationPort, destinationPort: sourcePort };
}

function addressesOf(tuple: ConntrackTuple): PacketAddresses {
  return {
    source: `${tuple.source}:${tuple.sourcePort ?? 0}`,
    destination: `${tuple.destination}:${tuple.destinationPort ?? 0}`,
  };
}

function hopOf(host: WitnessedHost, entry: ConntrackEntry, left: ConntrackTuple, all: readonly WitnessedHost[]): Hop {
  const owner = all.flatMap(({ after }) =>
    after.addresses
      .filter(({ address }) => address === left.destination)
      .map(({ device }) => `${after.host}'s ${device}`),
  );
  const [sentTo] = owner;
  return {
    host: host.after.host,
    role: host.role,
    arrived: addressesOf(entry.original),
    left: addressesOf(left),
    ...(sentTo === undefined || owner.length > 1 ? {} : { sentTo }),
    answered: !entry.unreplied,
    mark: entry.mark,
    entry: entry.text,
    moved: compare(host.before, host.after).filter((row) => hasMoved(row) && isTelling(row)),
  };
}

/** kuport's own counters, its links', and a rule of anyone's that ends a packet. */
function isTelling(row: CounterRow): boolean {
  if (row.kind === 'link') return row.place.startsWith('kup-');
  return isOurs(row) || /\b(drop|reject)\b/.test(row.text ?? row.subject);
}

function isOurs({ place }: CounterRow): boolean {
  return /^ip kuport( |$)/.test(place);
}

/** A host took part when the exchange passed it, or when a counter of kuport's moved although no entry tells why. */
function tableOf(host: WitnessedHost, hops: readonly Hop[]): CounterTable | null {
  const rows = compare(host.before, host.after).filter(
    (row) => isTelling(row) && (hasMoved(row) || isOurs(row) || /^(received|sent)$/.test(row.subject)),
  );
  const tookPart = hops.some((hop) => hop.host === host.after.host) || rows.some(hasMoved);
  return tookPart && rows.length > 0 ? { host: host.after.host, rows } : null;
}

/** The reply as it left a hop towards the client: the request's addresses on arrival, the other way round. */
export function replyAddresses({ source, destination }: PacketAddresses): PacketAddresses {
  return { source: destination, destination: source };
}
