/** What has to be done to bring the kernel from what it holds to what a plan asks for; pure. */
import type { NodePlan, PlannedLink } from '../plan/node-plan.ts';
import { idleTimeoutsOf, renderIdleTimeouts } from './idle-timeouts.ts';
import type { Observed, ObservedLink } from './observe.ts';
import { linkAddLines, linkMac, type RouteRule, routeLine, routingOf, ruleLine, type TableRoute } from './routing.ts';
import { type ElementSets, elementsOf, isEmpty, renderElementChanges, renderTable, transaction } from './ruleset.ts';

export type Wanted = Pick<NodePlan, 'links' | 'returnPaths' | 'deliveries'>;

export const nothing: Wanted = { links: [], returnPaths: [], deliveries: [] };

/** Texts for `ip -batch` and `nft -f -`, in the order in which they are run; an empty one is not run. */
export interface Change {
  /** Links, routes and rules that the new rules send packets into. */
  ipBefore: string[];
  /** Devices whose reverse path filter is to be set loose. */
  loosen: string[];
  nft: string;
  /** Whether `nft` replaces the whole table. */
  isNewTable: boolean;
  /** Removals: nothing sends packets there any more. */
  ipAfter: string[];
}

export function isNoChange({ ipBefore, loosen, nft, ipAfter }: Change): boolean {
  return ipBefore.length === 0 && loosen.length === 0 && nft === '' && ipAfter.length === 0;
}

/** Loose: accept a source that any interface leads to. */
const loose = 2;
const timeToLive = 64;

/** VNI and port of a live vxlan device cannot be changed (measured); the rest can. */
function mustBeRemade({ vxlan }: ObservedLink, want: PlannedLink): boolean {
  return vxlan === null || vxlan.vni !== want.vni || vxlan.port !== want.port;
}

function linkChangeLines(have: ObservedLink, want: PlannedLink): string[] {
  const { device } = want;
  const isSameTunnel =
    have.vxlan?.local === want.underlayAddress &&
    have.vxlan.remote === want.peerUnderlayAddress &&
    have.vxlan.ttl === timeToLive;
  return [
    ...(isSameTunnel
      ? []
      : [
          `link set ${device} type vxlan id ${want.vni} local ${want.underlayAddress} remote ${want.peerUnderlayAddress} ttl ${timeToLive}`,
        ]),
    ...(have.mac === linkMac(want) ? [] : [`link set ${device} address ${linkMac(want)}`]),
    ...(have.mtu === want.mtu ? [] : [`link set ${device} mtu ${want.mtu}`]),
    ...(have.addresses.includes(`${want.address}/31`) ? [] : [`addr add ${want.address}/31 dev ${device}`]),
    ...(have.isUp ? [] : [`link set ${device} up`]),
  ];
}

const ruleKey = (rule: RouteRule): string => `${rule.preference} ${rule.mark} ${rule.destination} ${rule.table}`;
const routeKey = (route: TableRoute): string => `${route.table} ${route.gateway} ${route.device}`;

function missing<Item>(from: readonly Item[], present: readonly Item[], key: (item: Item) => string): Item[] {
  const keys = new Set(present.map(key));
  return from.filter((item) => !keys.has(key(item)));
}

/**
 * @param baseline how nft listed the skeleton when it was whole: a listing that differs has been changed by somebody.
 * Null when none is known yet, as after a start; then the skeleton's own names decide.
 * @param sets what the plan's sets are to hold, where their new elements are to go on from counters
 */
export function difference(
  have: Observed,
  plan: Wanted,
  baseline: string | null,
  sets: ElementSets = elementsOf(plan),
): Change {
  const want = routingOf(plan);
  const ipBefore: string[] = [];
  const ipAfter: string[] = [];
  const loosen: string[] = [];
  const isKept = (there: ObservedLink): boolean => {
    const link = want.links.find((each) => each.device === there.device);
    return link !== undefined && !mustBeRemade(there, link);
  };
  /** A device that goes takes its routes along. */
  const removed = new Set(have.links.filter((each) => !isKept(each)).map((each) => each.device));
  // One that holds what a new one needs goes first: a name, or VNI and port, which the kernel gives out once.
  const inTheWay = have.links.filter(
    ({ device, vxlan }) =>
      removed.has(device) &&
      want.links.some((link) => link.device === device || (link.vni === vxlan?.vni && link.port === vxlan.port)),
  );
  ipBefore.push(...inTheWay.map(({ device }) => `link del ${device}`));
  for (const link of want.links) {
    const there = have.links.find((each) => each.device === link.device);
    if (there !== undefined && !removed.has(link.device)) {
      ipBefore.push(...linkChangeLines(there, link));
      const old = there.addresses.filter((address) => address !== `${link.address}/31`);
      ipAfter.push(...old.map((address) => `addr del ${address} dev ${link.device}`));
      if (there.rpFilter !== loose) loosen.push(link.device);
    } else {
      ipBefore.push(...linkAddLines(link));
      loosen.push(link.device);
    }
  }
  const routesLeft = have.routes.filter((route) => !removed.has(route.device));
  ipBefore.push(...missing(want.routes, routesLeft, routeKey).map((route) => routeLine('replace', route)));
  ipBefore.push(...missing(want.rules, have.rules, ruleKey).map((rule) => ruleLine('add', rule)));

  const wantedTables = new Set(want.routes.map((route) => route.table));
  const leftOver = [...removed].filter((device) => !inTheWay.some((link) => link.device === device));
  ipAfter.unshift(
    ...missing(have.rules, want.rules, ruleKey).map((rule) => ruleLine('del', rule)),
    // `replace` above has already put another gateway into a table that stays.
    ...missing(routesLeft, want.routes, routeKey)
      .filter((route) => !wantedTables.has(route.table))
      .map((route) => routeLine('del', route)),
  );
  ipAfter.push(...leftOver.map((device) => `link del ${device}`));
  return { ipBefore, loosen, ...rulesetChange(have, plan, baseline, sets), ipAfter };
}

function rulesetChange(
  { sets, idleTimeouts, skeleton, isOurs }: Observed,
  plan: Wanted,
  baseline: string | null,
  want: ElementSets,
): Pick<Change, 'nft' | 'isNewTable'> {
  if (isEmpty(want) && skeleton === null) return { nft: '', isNewTable: false };
  const idle = idleTimeoutsOf(plan.deliveries);
  const isWhole = isOurs && (baseline === null || skeleton === baseline);
  if (!isWhole || isEmpty(want)) return { nft: renderTable(want, idle), isNewTable: true };
  const lines = [...renderIdleTimeouts(idleTimeouts, idle), ...renderElementChanges(sets, want)];
  return { nft: transaction(lines), isNewTable: false };
}
