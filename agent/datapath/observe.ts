/** What the kernel holds of kuport's now. Only what is ours is looked at: kup-* devices, protocol 107, table ip kuport. */
import type { PlannedLink } from '../plan/node-plan.ts';
import { run } from './command.ts';
import type { HostInterface } from './interfaces.ts';
import { type RouteRule, routeProtocol, type TableRoute } from './routing.ts';
import { chains, type ElementSets, type Elements, setNames, skeletonVersion, tableName } from './ruleset.ts';

export interface ObservedLink extends Omit<PlannedLink, 'className' | 'peer' | 'peerAddress'> {
  up: boolean;
}

export interface Observed {
  links: ObservedLink[];
  rules: RouteRule[];
  routes: TableRoute[];
  /** Null when there is no table of this version, or its chains are not whole. */
  sets: ElementSets | null;
  /** True when a table of our name is there, whatever it holds. */
  hasTable: boolean;
}

export const linkPrefix = 'kup-';

export async function observe(interfaces: readonly HostInterface[]): Promise<Observed> {
  const [rules, routes, table] = await Promise.all([readRules(), readRoutes(), readTable()]);
  return { links: readLinks(interfaces), rules, routes, ...table };
}

export function readLinks(interfaces: readonly HostInterface[]): ObservedLink[] {
  return interfaces
    .filter((each) => each.name.startsWith(linkPrefix))
    .map(({ name, up, mtu, addresses, vxlan }) => ({
      device: name,
      up,
      mtu,
      address: addresses[0] ?? '',
      vni: vxlan?.vni ?? 0,
      port: vxlan?.port ?? 0,
      underlayAddress: vxlan?.local ?? '',
      peerUnderlayAddress: vxlan?.remote ?? '',
    }));
}

interface RuleJson {
  priority: number;
  dst?: string;
  fwmark?: string;
  table: string;
  protocol?: string;
}

/** ip prints a protocol by its name where it has one, else as a number. */
function isOurs(protocol: string | undefined): boolean {
  return protocol === String(routeProtocol);
}

export async function readRules(): Promise<RouteRule[]> {
  const rules = JSON.parse(await run(['ip', '-json', 'rule', 'show'])) as RuleJson[];
  return rules
    .filter((rule) => isOurs(rule.protocol))
    .map(({ priority, dst, fwmark = '0', table }) => ({
      preference: priority,
      mark: Number(fwmark),
      destination: dst ?? null,
      table,
    }));
}

export async function readRoutes(): Promise<TableRoute[]> {
  const text = await run(['ip', '-json', 'route', 'show', 'table', 'all', 'proto', String(routeProtocol)]);
  const routes = JSON.parse(text === '' ? '[]' : text) as { gateway?: string; dev?: string; table?: string }[];
  return routes.map(({ gateway = '', dev = '', table = 'main' }) => ({ gateway, device: dev, table }));
}

/** An expression, value or wrapper of nft's JSON. */
type Json = string | number | { [key: string]: Json } | Json[];

interface TableJson {
  table?: { name: string; comment?: string };
  chain?: { name: string };
  rule?: { chain: string; comment?: string };
  set?: { name: string; elem?: Json[] };
  map?: { name: string; elem?: Json[] };
}

async function readTable(): Promise<Pick<Observed, 'sets' | 'hasTable'>> {
  const text = await run(['nft', '-j', 'list', 'table', 'ip', tableName], { allowFailure: true });
  if (text.trim() === '') return { sets: null, hasTable: false };
  const objects = (JSON.parse(text) as { nftables: TableJson[] }).nftables;
  const rules = objects.flatMap(({ rule }) => (rule === undefined ? [] : [`${rule.chain}: ${rule.comment ?? ''}`]));
  const expected = chains.flatMap((chain) => chain.rules.map((rule) => `${chain.name}: ${rule.comment}`));
  // nft 1.0.6 stores a table's comment but does not print it in JSON; the listing as text has it.
  const isWhole = rules.join('\n') === expected.join('\n') && (await hasVersion());
  if (!isWhole) return { sets: null, hasTable: true };
  const sets = Object.fromEntries(setNames.map((name) => [name, new Map()])) as ElementSets;
  for (const object of objects) {
    const set = object.set ?? object.map;
    if (set === undefined || !(set.name in sets)) continue;
    for (const element of set.elem ?? []) readElement(element, sets[set.name as keyof ElementSets]);
  }
  return { sets, hasTable: true };
}

async function hasVersion(): Promise<boolean> {
  // -t leaves the elements out: this is only about the table's head.
  const text = await run(['nft', '-t', 'list', 'table', 'ip', tableName], { allowFailure: true });
  return text.includes(`comment "kuport ${skeletonVersion}"`);
}

function readElement(element: Json, elements: Elements): void {
  const [head, value] = Array.isArray(element) ? element : [element, undefined];
  if (head === undefined) return;
  const wrapper =
    typeof head === 'object' && !Array.isArray(head) && 'elem' in head
      ? (head.elem as { val: Json; comment?: string })
      : null;
  const comment = wrapper?.comment;
  elements.set(keyText(wrapper?.val ?? head), {
    ...(value === undefined ? {} : { value: valueText(value) }),
    ...(comment === undefined ? {} : { comment }),
  });
}

/** As the renderer writes it: interface names quoted, everything else bare. */
function keyText(json: Json): string {
  if (typeof json !== 'object') return String(json);
  if ('concat' in json && Array.isArray(json.concat)) {
    // Every concatenation of ours begins with an interface's name.
    return json.concat.map((part, index) => (index === 0 ? `"${String(part)}"` : keyText(part))).join(' . ');
  }
  if ('range' in json && Array.isArray(json.range)) return json.range.map(String).join('-');
  return JSON.stringify(json);
}

function valueText(json: Json): string {
  if (typeof json === 'number') return `0x${json.toString(16)}`;
  if (typeof json === 'object' && 'concat' in json && Array.isArray(json.concat))
    return json.concat.map(String).join(' . ');
  return String(json);
}
