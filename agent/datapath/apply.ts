/**
 * Brings the kernel from what it holds to what a plan asks for. New links, routes and rules come before the nft
 * transaction that sends packets into them, old ones go after it; one process for each step, none for a step without
 * work.
 */
import { writeFile } from 'node:fs/promises';
import type { NodePlan, PlannedLink } from '../plan/node-plan.ts';
import { run } from './command.ts';
import type { Observed, ObservedLink } from './observe.ts';
import {
  linkAddLines,
  type RouteRule,
  type Routing,
  routeLine,
  routingOf,
  ruleLine,
  type TableRoute,
} from './routing.ts';
import { type ElementSets, elementsOf, isEmpty, renderElementChanges, renderTable } from './ruleset.ts';

/** Texts for `ip -batch` and `nft -f -`; an empty one is not run. */
export interface Change {
  /** Before the nft transaction. */
  ipBefore: string[];
  nft: string;
  /** After it. */
  ipAfter: string[];
  /** Devices made by this change. */
  newLinks: string[];
}

export function isNoChange(change: Change): boolean {
  return change.ipBefore.length === 0 && change.nft === '' && change.ipAfter.length === 0;
}

/** VNI and port cannot be changed on a live device (measured); the rest can. */
function mustBeRemade(have: ObservedLink, want: PlannedLink): boolean {
  return have.vni !== want.vni || have.port !== want.port;
}

function linkChangeLines(have: ObservedLink, want: PlannedLink): string[] {
  const { device } = want;
  return [
    ...(have.underlayAddress !== want.underlayAddress || have.peerUnderlayAddress !== want.peerUnderlayAddress
      ? [`link set ${device} type vxlan local ${want.underlayAddress} remote ${want.peerUnderlayAddress}`]
      : []),
    ...(have.mtu === want.mtu ? [] : [`link set ${device} mtu ${want.mtu}`]),
    ...(have.address === want.address
      ? []
      : [
          ...(have.address === '' ? [] : [`addr del ${have.address}/31 dev ${device}`]),
          `addr add ${want.address}/31 dev ${device}`,
        ]),
    ...(have.up ? [] : [`link set ${device} up`]),
  ];
}

const ruleKey = (rule: RouteRule): string => `${rule.preference} ${rule.mark} ${rule.destination} ${rule.table}`;
const routeKey = (route: TableRoute): string => `${route.table} ${route.gateway} ${route.device}`;

function missing<Item>(from: readonly Item[], present: readonly Item[], key: (item: Item) => string): Item[] {
  const keys = new Set(present.map(key));
  return from.filter((item) => !keys.has(key(item)));
}

/** What has to be done; pure. */
export function difference(have: Observed, plan: Pick<NodePlan, 'links' | 'returnPaths' | 'deliveries'>): Change {
  const want: Routing = routingOf(plan);
  const ipBefore: string[] = [];
  const newLinks: string[] = [];
  /** A device that goes takes its routes along, and one that is remade comes back without them. */
  const remade = new Set<string>();
  for (const link of want.links) {
    const there = have.links.find((each) => each.device === link.device);
    if (there === undefined || mustBeRemade(there, link)) {
      if (there !== undefined) ipBefore.push(`link del ${link.device}`);
      ipBefore.push(...linkAddLines(link));
      newLinks.push(link.device);
      remade.add(link.device);
    } else {
      const changes = linkChangeLines(there, link);
      ipBefore.push(...changes);
      // Setting a link down or taking its address away removes the routes through it.
      if (!there.up || there.address !== link.address) remade.add(link.device);
    }
  }
  const routesHad = have.routes.filter((route) => !remade.has(route.device));
  ipBefore.push(...missing(want.routes, routesHad, routeKey).map((route) => routeLine('replace', route)));
  ipBefore.push(...missing(want.rules, have.rules, ruleKey).map((rule) => ruleLine('add', rule)));

  const wantedTables = new Set(want.routes.map((route) => route.table));
  const goneLinks = have.links.filter((each) => !want.links.some((link) => link.device === each.device));
  const goneDevices = new Set(goneLinks.map((link) => link.device));
  const ipAfter = [
    ...missing(have.rules, want.rules, ruleKey).map((rule) => ruleLine('del', rule)),
    // `replace` above has already put another gateway into a table that stays.
    ...missing(have.routes, want.routes, routeKey)
      .filter((route) => !wantedTables.has(route.table) && !goneDevices.has(route.device) && !remade.has(route.device))
      .map((route) => routeLine('del', route)),
    ...goneLinks.map((link) => `link del ${link.device}`),
  ];
  return { ipBefore, nft: nftChange(have, elementsOf(plan)), ipAfter, newLinks };
}

function nftChange(have: Observed, want: ElementSets): string {
  if (isEmpty(want)) return have.hasTable ? renderTable(want) : '';
  return have.sets === null ? renderTable(want) : renderElementChanges(have.sets, want);
}

/**
 * Requests arrive on a link from the client's address, whose route leads elsewhere: strict reverse path filtering, the
 * default of kind images and RHEL, drops them. The effective value is the larger of the device's and all's, so loose on
 * the device alone is enough.
 */
async function loosenReversePath(device: string): Promise<void> {
  await writeFile(`/proc/sys/net/ipv4/conf/${device}/rp_filter`, '2');
}

export interface ApplyHooks {
  /** Told the process number of the nft that commits, so that a monitor can tell its own work from others'. */
  nftStarted?(pid: number): void;
}

/** @throws CommandError with the text that was refused; what had been done before stays and is seen by the next look */
export async function applyChange(change: Change, hooks: ApplyHooks = {}): Promise<void> {
  const batch = async (lines: readonly string[]): Promise<void> => {
    if (lines.length > 0) await run(['ip', '-batch', '-'], { input: `${lines.join('\n')}\n` });
  };
  await batch(change.ipBefore);
  await Promise.all(change.newLinks.map(loosenReversePath));
  if (change.nft !== '') {
    await run(['nft', '-f', '-'], {
      input: change.nft,
      ...(hooks.nftStarted === undefined ? {} : { started: hooks.nftStarted }),
    });
  }
  await batch(change.ipAfter);
}
