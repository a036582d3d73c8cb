/** Links, rules and routes of a plan as objects, and as lines for `ip -batch`. */
import type { NodePlan, PlannedLink, ReturnPath } from '../plan/node-plan.ts';

/** Protocol number on every rule and route of ours, "k": tells whose they are (`ip route show proto 107`). */
export const routeProtocol = 107;

/** Below netbird's 105 and 110, above the local table that Cilium moves to 100: a return rule at 32001 never fires. */
export const guardPreference = 101;
export const divertPreference = 102;

export interface RouteRule {
  preference: number;
  mark: number;
  /** Destination address the rule is limited to, or null. */
  destination: string | null;
  /** `main` or a number. */
  table: string;
}

export interface TableRoute {
  table: string;
  gateway: string;
  device: string;
}

export interface Routing {
  links: PlannedLink[];
  rules: RouteRule[];
  routes: TableRoute[];
}

/** The loop guard and the diversion of one link, and the route it diverts to. */
function returnRouting({ mark, table, device, peerAddress, peerUnderlayAddress }: ReturnPath): Omit<Routing, 'links'> {
  return {
    rules: [
      // The vxlan driver copies the inner packet's mark to the outer one, which would then be sent into the link again.
      { preference: guardPreference, mark, destination: peerUnderlayAddress, table: 'main' },
      { preference: divertPreference, mark, destination: null, table: String(table) },
    ],
    routes: [{ table: String(table), gateway: peerAddress, device }],
  };
}

export function routingOf({ links, returnPaths }: Pick<NodePlan, 'links' | 'returnPaths'>): Routing {
  const returns = returnPaths.map(returnRouting);
  return {
    links: [...links],
    rules: returns.flatMap((each) => each.rules),
    routes: returns.flatMap((each) => each.routes),
  };
}

/**
 * MAC of a link's end, from its address in the /31: the same whenever the device is made. With a random one the peer goes
 * on sending to the old one after a device was made anew (measured: nothing arrives until its ARP entry expires).
 */
export function linkMac({ address }: Pick<PlannedLink, 'address'>): string {
  const octets = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  // 02: locally administered, unicast.
  return `02:6b:${octets.join(':')}`;
}

export function linkAddLines(link: PlannedLink): string[] {
  return [
    `link add ${link.device} address ${linkMac(link)} type vxlan id ${link.vni} local ${link.underlayAddress} remote ${link.peerUnderlayAddress} dstport ${link.port} ttl 64`,
    `link set ${link.device} mtu ${link.mtu}`,
    `addr add ${link.address}/31 dev ${link.device}`,
    `link set ${link.device} up`,
  ];
}

export function ruleLine(verb: 'add' | 'del', { preference, mark, destination, table }: RouteRule): string {
  const to = destination === null ? '' : ` to ${destination}/32`;
  return `rule ${verb} pref ${preference} fwmark 0x${mark.toString(16)}${to} lookup ${table} protocol ${routeProtocol}`;
}

export function routeLine(verb: 'replace' | 'del', { table, gateway, device }: TableRoute): string {
  // onlink is not needed: the gateway is the other end of the link's own /31.
  return `route ${verb} default via ${gateway} dev ${device} table ${table} proto ${routeProtocol}`;
}

/** Everything from nothing: what golden files hold and `render` prints. */
export function renderRouting(plan: Pick<NodePlan, 'links' | 'returnPaths'>): string {
  const { links, rules, routes } = routingOf(plan);
  const lines = [
    ...links.flatMap(linkAddLines),
    ...routes.map((route) => routeLine('replace', route)),
    ...rules.map((rule) => ruleLine('add', rule)),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
