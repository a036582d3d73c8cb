/**
 * Table `ip kuport` as text for `nft -f -`: a skeleton of chains that never changes, and sets whose elements are the
 * plan. A change of the plan is a change of elements: no rule is replaced, so no counter and no flow of an untouched
 * mapping is disturbed, and a packet costs the same with one mapping as with thousands. Measured at 1,000-5,000
 * mappings: 16-21 ms per changed element, 44-200 ms per replaced rule.
 */
import { createHash } from 'node:crypto';
import type { Delivery, NodePlan, Protocol } from '../plan/node-plan.ts';
import { addElements, type Elements, elementChanges, elementComment, portText, tableName } from './elements.ts';
import {
  heldIdleTimeouts,
  type IdleTimeouts,
  idleChain,
  idleTimeoutsOf,
  renderIdleTimeouts,
  renderNewIdleTimeouts,
} from './idle-timeouts.ts';

export { type Elements, elementComment, tableName } from './elements.ts';

const restoreMatch = 'ct direction reply ct mark & 0xffff0000 == 0x6b700000';

/** What each set holds: its declaration, without elements. */
const setDeclarations = {
  // Where a port on an interface goes. A link's arrivals on the pod's node stand here as well.
  ports: 'map ports { type ifname . inet_proto . inet_service : ipv4_addr . inet_service; counter; }',
  // Ranges map to themselves, hence an address alone.
  'port-ranges': 'map port-ranges { type ifname . inet_proto . inet_service : ipv4_addr; flags interval; counter; }',
  // Device and own end of each link whose replies must go back over it.
  'link-marks': 'map link-marks { type ifname . ipv4_addr : mark; }',
  // Counts every request packet by mapping; the maps above see the first packet of a flow only.
  requests: 'set requests { type ifname . inet_proto . inet_service; flags interval; counter; }',
  // What clients dialled whose flows end in a pod of this node.
  'dialled-tcp': 'set dialled-tcp { type ipv4_addr . inet_service; flags interval; counter; }',
  'dialled-udp': 'set dialled-udp { type ipv4_addr . inet_service; flags interval; counter; }',
} as const;

/** Filled by packets, not from a plan: pod and port . client and port, of flows that arrived over a link. */
const remoteClients =
  'set remote-clients { type ipv4_addr . inet_service . ipv4_addr . inet_service; size 65535; flags dynamic,timeout; timeout 1h; }';

export type SetName = keyof typeof setDeclarations;

export const setNames = Object.keys(setDeclarations) as SetName[];

/** One chain and its rules; each rule's comment is its name in counters and drift checks. */
interface ChainText {
  name: string;
  hook: string;
  rules: { comment: string; text: string }[];
}

export const chains: readonly ChainText[] = [
  {
    name: 'kup-pre',
    hook: 'type nat hook prerouting priority dstnat - 10; policy accept;',
    rules: [
      // Only what is addressed to this node: traffic it merely forwards is nobody's to take.
      {
        comment: 'port to its pod or link',
        text: 'fib daddr type local dnat ip to iifname . meta l4proto . th dport map @ports',
      },
      {
        comment: 'range to its pod or link',
        text: 'fib daddr type local dnat ip to iifname . meta l4proto . th dport map @port-ranges',
      },
    ],
  },
  {
    name: 'kup-mangle',
    hook: 'type filter hook prerouting priority mangle + 10; policy accept;',
    rules: [
      {
        comment: 'request packets by mapping',
        text: 'fib daddr type local iifname . meta l4proto . th dport @requests',
      },
      // `original` and the own end of the /31: a link used in both roles carries replies of other flows too.
      {
        comment: 'flow arrived over a link',
        text: 'ct direction original ct mark set iifname . ip daddr map @link-marks counter',
      },
      {
        // Conntrack has forgotten the client, and the pod speaks first: it would leave by this node's own uplink, unheard,
        // and its entry would take the client's place, so that the pod saw the client under another port (measured).
        // What a pod sends to anybody else passes.
        comment: 'pod ahead of its forgotten client',
        text: 'iifname != "kup-*" ct state new ip saddr . udp sport . ip daddr . udp dport @remote-clients counter drop',
      },
      // Not what itself arrives on a link: on the accepting node it is on its way to the client.
      {
        comment: 'reply goes back over its link',
        text: `iifname != "kup-*" ${restoreMatch} meta mark set ct mark counter`,
      },
    ],
  },
  // Filled from idle-timeouts.ts.
  { name: idleChain, hook: 'type filter hook prerouting priority mangle + 10; policy accept;', rules: [] },
  {
    name: 'kup-output',
    hook: 'type route hook output priority mangle + 10; policy accept;',
    rules: [
      // ICMP errors and replies that the node itself makes never pass prerouting.
      { comment: "node's own reply goes back over its link", text: `${restoreMatch} meta mark set ct mark counter` },
    ],
  },
  {
    // Postrouting: the SYN-ACK of a connection passes no nat chain, that of the node itself no forward chain.
    name: 'kup-late',
    hook: 'type filter hook postrouting priority mangle; policy accept;',
    rules: [
      {
        // Measured where no ICMP arrives: without it a transfer of 400 kB stalls after its first window.
        comment: 'segments fit the link',
        text: 'oifname "kup-*" tcp flags syn tcp option maxseg size set rt mtu counter',
      },
      {
        comment: 'client of a pod over a link',
        text: `ct state new ct direction original ct mark & 0xffff0000 == 0x6b700000 update @remote-clients { ip daddr . udp dport . ip saddr . udp sport } counter`,
      },
    ],
  },
  {
    name: 'kup-post',
    hook: 'type nat hook postrouting priority srcnat - 10; policy accept;',
    rules: (['tcp', 'udp'] as const).map((protocol) => ({
      // Source NAT is set up once per flow: claiming the flow unchanged keeps a CNI's masquerade off it. Matched by what
      // the client dialled, address and port together, so that nobody else's flow is claimed. nft 1.0.6 takes `proto-dst`
      // into a concatenation once the protocol is known: hence a rule and a set for each.
      comment: `client's ${protocol.toUpperCase()} address stays`,
      text: `ct status dnat meta l4proto ${protocol} ct original ip daddr . ct original proto-dst @dialled-${protocol} counter snat ip to ip saddr`,
    })),
  },
];

const skeletonLines = [
  ...Object.values(setDeclarations),
  remoteClients,
  ...chains.flatMap(({ name, hook, rules }) => [
    `chain ${name} {`,
    `  ${hook}`,
    ...rules.map(({ text, comment }) => `  ${text} comment "${comment}"`),
    '}',
  ]),
];

/** Tells one version of the skeleton from another; stands in the table's comment. */
export const skeletonVersion = createHash('sha256').update(skeletonLines.join('\n')).digest('hex').slice(0, 8);

export type ElementSets = Record<SetName, Elements>;

function protocolName(protocol: Protocol): string {
  return protocol.toLowerCase();
}

interface DialledPorts {
  port: number;
  endPort: number;
  /** Mappings behind them. */
  portMaps: string[];
}

/**
 * Disjoint ranges that cover the same ports: an interval set takes no overlaps. They occur where two interfaces have one
 * address and different mappings.
 */
function disjoint(deliveries: readonly Delivery[]): DialledPorts[] {
  const merged: DialledPorts[] = [];
  for (const { port, endPort, portMap } of [...deliveries].sort((a, b) => a.port - b.port || a.endPort - b.endPort)) {
    const last = merged.at(-1);
    if (last === undefined || port > last.endPort) {
      merged.push({ port, endPort, portMaps: [portMap] });
    } else {
      last.endPort = Math.max(last.endPort, endPort);
      if (!last.portMaps.includes(portMap)) last.portMaps.push(portMap);
    }
  }
  return merged;
}

function dialledElements(deliveries: readonly Delivery[]): Elements {
  const byAddress = new Map<string, Delivery[]>();
  for (const delivery of deliveries) {
    for (const address of delivery.dialledAddresses) {
      const there = byAddress.get(address);
      if (there === undefined) byAddress.set(address, [delivery]);
      else there.push(delivery);
    }
  }
  const elements: Elements = new Map();
  for (const [address, there] of byAddress) {
    for (const range of disjoint(there)) {
      elements.set(`${address} . ${portText(range)}`, { comment: elementComment(range.portMaps.sort().join(' ')) });
    }
  }
  return elements;
}

/** What the sets hold for a plan. */
export function elementsOf({ deliveries, returnPaths }: RulesetPlan): ElementSets {
  const sets = Object.fromEntries(setNames.map((name) => [name, new Map()])) as ElementSets;
  for (const delivery of deliveries) {
    const key = deliveryKey(delivery);
    const comment = elementComment(delivery.portMap);
    sets.requests.set(key, { comment });
    if (delivery.port === delivery.endPort) {
      sets.ports.set(key, { value: `${delivery.targetAddress} . ${delivery.targetPort}`, comment });
    } else {
      sets['port-ranges'].set(key, { value: delivery.targetAddress, comment });
    }
  }
  for (const { device, address, mark } of returnPaths) {
    sets['link-marks'].set(`"${device}" . ${address}`, { value: `0x${mark.toString(16)}` });
  }
  const toPods = deliveries.filter((delivery) => delivery.targetIsPod);
  sets['dialled-tcp'] = dialledElements(toPods.filter((delivery) => delivery.protocol === 'TCP'));
  sets['dialled-udp'] = dialledElements(toPods.filter((delivery) => delivery.protocol === 'UDP'));
  return sets;
}

export function deliveryKey(delivery: Pick<Delivery, 'interface' | 'protocol' | 'port' | 'endPort'>): string {
  return `"${delivery.interface}" . ${protocolName(delivery.protocol)} . ${portText(delivery)}`;
}

export function isEmpty(sets: ElementSets): boolean {
  return setNames.every((name) => sets[name].size === 0);
}

/** The whole table, in place of whatever stands there; its removal when there is nothing to hold. */
export function renderTable(sets: ElementSets, idleTimeouts: IdleTimeouts): string {
  const removal = [`add table ip ${tableName}`, `delete table ip ${tableName}`];
  if (isEmpty(sets)) return `${removal.join('\n')}\n`;
  const lines = [
    ...removal,
    `table ip ${tableName} {`,
    `  comment "kuport ${skeletonVersion}"`,
    ...skeletonLines.map((line) => `  ${line}`),
    '}',
    ...renderNewIdleTimeouts(idleTimeouts),
    ...setNames.flatMap((name) => addElements(name, sets[name])),
  ];
  return `${lines.join('\n')}\n`;
}

/** The part of a plan that the table holds. */
export type RulesetPlan = Pick<NodePlan, 'deliveries' | 'returnPaths'>;

/** What golden files hold and `render` prints: the table a plan asks for. */
export function renderRuleset(plan: RulesetPlan): string {
  return renderTable(elementsOf(plan), idleTimeoutsOf(plan.deliveries));
}

/**
 * The smallest transaction from one plan to another: elements, as long as both need a table. Counters of what stays in
 * place go on. Empty when nothing differs.
 * @param previous null where what the kernel holds is unknown: the whole table is written then
 */
export function renderChange(previous: RulesetPlan | null, plan: RulesetPlan): string {
  if (previous === null) return renderRuleset(plan);
  const [from, to] = [elementsOf(previous), elementsOf(plan)];
  if (isEmpty(from) && isEmpty(to)) return '';
  if (isEmpty(from) || isEmpty(to)) return renderRuleset(plan);
  const idle = renderIdleTimeouts(
    heldIdleTimeouts(idleTimeoutsOf(previous.deliveries)),
    idleTimeoutsOf(plan.deliveries),
  );
  return transaction([...idle, ...renderElementChanges(from, to)]);
}

/** Lines from one state of the sets to another; none when they are the same. */
export function renderElementChanges(from: ElementSets, to: ElementSets): string[] {
  return setNames.flatMap((name) => elementChanges(name, from[name], to[name]));
}

export function transaction(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}
