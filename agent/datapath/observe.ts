/** What the kernel holds of ours: kup-* devices, rules and routes of protocol 107, table `ip kuport`. */
import { readFile } from 'node:fs/promises';
import { CommandError, run } from './command.ts';
import type { Counter, Element, Elements } from './elements.ts';
import {
  durationOfRule,
  durationOfSet,
  noIdleTimeouts,
  type ObservedIdleTimeouts,
  withoutIdleTimeouts,
} from './idle-timeouts.ts';
import { type IpLink, type IpState, readIpState } from './ip-json.ts';
import { type RouteRule, routeProtocol, type TableRoute } from './routing.ts';
import { chains, type ElementSets, setNames, skeletonVersion, tableName } from './ruleset.ts';

export const devicePrefix = 'kup-';

/** Number of the main table, which `ip -N` prints in place of its name. */
const mainTable = '254';

export interface ObservedLink {
  device: string;
  isUp: boolean;
  mtu: number;
  mac: string;
  /** Null where the device is no vxlan device: somebody else took the name. */
  vxlan: { vni: number; port: number; local: string; remote: string; ttl: number } | null;
  /** With prefix length, IPv4 only. */
  addresses: string[];
  /** Reverse path filter: 0 off, 1 strict, 2 loose. */
  rpFilter: number | null;
}

export interface ObservedRouting {
  links: ObservedLink[];
  rules: RouteRule[];
  routes: TableRoute[];
}

/** Everything of ours that the kernel holds. */
export interface Observed extends ObservedRouting, ObservedRuleset {}

export interface ObservedRuleset {
  sets: ElementSets;
  idleTimeouts: ObservedIdleTimeouts;
  /**
   * Chains, rules and declarations as nft lists them, without counters: whatever is changed there shows. Null when the
   * table is not there.
   */
  skeleton: string | null;
  /** Whether that skeleton is, by its version and the names of its rules, the one this program writes. */
  isOurs: boolean;
}

async function rpFilter(device: string): Promise<number | null> {
  try {
    return Number(await readFile(`/proc/sys/net/ipv4/conf/${device}/rp_filter`, 'utf8'));
  } catch {
    return null; // Gone meanwhile: the next event tells.
  }
}

async function observedLink({ ifname, flags, mtu, address = '', linkinfo, addr_info }: IpLink): Promise<ObservedLink> {
  const data = linkinfo?.info_data;
  return {
    device: ifname,
    isUp: flags.includes('UP'),
    mtu,
    mac: address,
    vxlan:
      linkinfo?.info_kind === 'vxlan'
        ? {
            vni: data?.id ?? 0,
            port: data?.port ?? 0,
            local: data?.local ?? '',
            remote: data?.remote ?? '',
            ttl: data?.ttl ?? 0,
          }
        : null,
    addresses: addr_info.filter((each) => each.family === 'inet').map((each) => `${each.local}/${each.prefixlen}`),
    rpFilter: await rpFilter(ifname),
  };
}

/** @throws CommandError */
export async function observeRouting(ip?: IpState): Promise<ObservedRouting> {
  const { links, rules, routes } = ip ?? (await readIpState());
  const tableText = (table: string | undefined): string => (table === mainTable ? 'main' : (table ?? 'main'));
  return {
    links: await Promise.all(links.filter((each) => each.ifname.startsWith(devicePrefix)).map(observedLink)),
    rules: rules
      .filter((each) => each.protocol === String(routeProtocol))
      .map((each) => ({
        preference: each.priority,
        mark: Number(each.fwmark ?? 0),
        destination: each.dst ?? null,
        table: tableText(each.table),
      })),
    routes: routes
      // Asked for by protocol, which ip therefore leaves out.
      .filter((each) => each.dst === 'default')
      .map((each) => ({ table: tableText(each.table), gateway: each.gateway ?? '', device: each.dev ?? '' })),
  };
}

/** Marks of the links that replies are sent back over, as the rules and routes of ours say. */
export function linkMarksOf({ rules, routes }: ObservedRouting): Record<string, number> {
  const devices = new Map(routes.map((route) => [route.table, route.device]));
  return Object.fromEntries(
    rules.flatMap((rule): [string, number][] => {
      const device = rule.destination === null ? devices.get(rule.table) : undefined;
      return device === undefined ? [] : [[device, rule.mark]];
    }),
  );
}

type NftValue =
  | string
  | number
  | { concat: NftValue[] }
  | { range: [NftValue, NftValue] }
  | { prefix: { addr: string | number; len: number } }
  | { elem: { val: NftValue; comment?: string; counter?: Counter } };

interface NftSet {
  name: string;
  type: string | string[];
  elem?: (NftValue | [NftValue, NftValue])[];
  /** Of a map: the type of its values. */
  map?: string;
}

/** One entry of the listing: a set, a map, a conntrack timeout or a rule. */
interface NftObject {
  set?: NftSet;
  map?: NftSet;
  'ct timeout'?: { name: string };
  rule?: { comment?: string };
}

/** The same text that ruleset.ts writes for a key or a value. */
function valueText(value: NftValue, types: readonly string[]): string {
  if (typeof value === 'object') {
    if ('elem' in value) return valueText(value.elem.val, types);
    if ('concat' in value) return value.concat.map((part, index) => valueText(part, [types[index] ?? ''])).join(' . ');
    if ('range' in value) return value.range.map((end) => valueText(end, types)).join('-');
    // Only ports stand in interval sets here: 16 bits.
    const first = Number(value.prefix.addr);
    return `${first}-${first + 2 ** (16 - value.prefix.len) - 1}`;
  }
  if (types[0] === 'ifname') return `"${value}"`;
  if (types[0] === 'mark') return `0x${Number(value).toString(16)}`;
  return String(value);
}

/** Comment and counter of an element. */
function detailsOf(value: NftValue): Element {
  if (typeof value !== 'object' || !('elem' in value)) return {};
  const { comment, counter } = value.elem;
  return { ...(comment === undefined ? {} : { comment }), ...(counter === undefined ? {} : { counter }) };
}

function readElements({ type, elem = [], map = '' }: NftSet): Elements {
  const keyTypes = [type].flat();
  return new Map(
    elem.map((each): [string, Element] => {
      if (!Array.isArray(each)) return [valueText(each, keyTypes), detailsOf(each)];
      const [key, value] = each;
      return [valueText(key, keyTypes), { value: valueText(value, [map]), ...detailsOf(key) }];
    }),
  );
}

export function emptySets(): ElementSets {
  return Object.fromEntries(setNames.map((name) => [name, new Map()])) as ElementSets;
}

/** Chains and comments of rules, in order: what must stand in a listing of this version's skeleton. */
const expectedNames = chains.flatMap(({ name, rules }) => [`chain ${name}`, ...rules.map((rule) => rule.comment)]);

function isOurSkeleton(listing: string): boolean {
  const names = [...listing.matchAll(/^\t(chain \S+) \{$|^\t\t.* comment "([^"]*)"$/gm)].map(
    ([, chain, comment]) => chain ?? comment,
  );
  return (
    listing.includes(`\tcomment "kuport ${skeletonVersion}"\n`) &&
    names.length === expectedNames.length &&
    names.every((name, index) => name === expectedNames[index])
  );
}

function skeletonOf(listing: string): string {
  return withoutIdleTimeouts(listing.replaceAll(/ packets \d+ bytes \d+/g, ''));
}

/** @returns null when the table is not there. @throws CommandError */
export async function readSkeleton(): Promise<string | null> {
  try {
    return skeletonOf(await run('nft', ['--terse', 'list', 'table', 'ip', tableName]));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof CommandError && error.stderr.includes('No such file or directory');
}

/**
 * The listing without elements is text, since nft 1.0.6 leaves the table's comment out of its JSON.
 * @throws CommandError
 */
export async function observeRuleset(): Promise<ObservedRuleset> {
  const sets = emptySets();
  try {
    const [listing, json] = await Promise.all([
      run('nft', ['--terse', 'list', 'table', 'ip', tableName]),
      run('nft', ['--json', 'list', 'table', 'ip', tableName]),
    ]);
    const idleTimeouts: ObservedIdleTimeouts = { objects: [], sets: new Map(), rules: [] };
    for (const object of (JSON.parse(json) as { nftables: NftObject[] }).nftables) {
      const set = object.map ?? object.set;
      const name = setNames.find((each) => each === set?.name);
      const setDuration = durationOfSet(set?.name ?? '');
      const ruleDuration = durationOfRule(object.rule?.comment ?? '');
      if (set !== undefined && name !== undefined) sets[name] = readElements(set);
      if (set !== undefined && setDuration !== null) idleTimeouts.sets.set(setDuration, readElements(set));
      if (object['ct timeout'] !== undefined) idleTimeouts.objects.push(object['ct timeout'].name);
      if (ruleDuration !== null) idleTimeouts.rules.push(ruleDuration);
    }
    const skeleton = skeletonOf(listing);
    return { sets, idleTimeouts, skeleton, isOurs: isOurSkeleton(skeleton) };
  } catch (error) {
    if (isMissing(error)) return { sets, idleTimeouts: noIdleTimeouts, skeleton: null, isOurs: false };
    throw error;
  }
}

/** @throws CommandError */
export async function observe(ip?: IpState): Promise<Observed> {
  const [routing, ruleset] = await Promise.all([observeRouting(ip), observeRuleset()]);
  return { ...routing, ...ruleset };
}
