/** What a node reports of itself in a class's status. */
import { shortMessage } from '../api/conditions.ts';
import { allowedPorts, vxlanSettings } from '../api/defaults.ts';
import type { PortMapClass, PortMapClassNodeStatus, TakenPort } from '../api/types.ts';
import { encapsulationBytes } from './links.ts';
import type { HostFacts } from './node-plan.ts';
import { byName, type ClusterSnapshot } from './snapshot.ts';
import { nodeRowOf, ownUnderlay } from './underlay.ts';

/** What holds the links' own port, in a row; and what the host's list of listeners calls it. */
const linkRole = "kuport's links";
const ownLinkRole = 'kuport links';

/** Most ports that a row of the CRD has room for. */
const takenPortsLimit = 1024;

export function nodeRow(
  snapshot: ClusterSnapshot,
  portMapClass: PortMapClass,
  node: string,
  host: HostFacts,
): PortMapClassNodeStatus {
  const wanted = portMapClass.spec.nodes[node]?.interfaces ?? [];
  const present = wanted.flatMap((name) => host.interfaces.find((each) => each.name === name) ?? []);
  const absent = wanted.filter((name) => !present.some((each) => each.name === name));
  const underlay =
    portMapClass.spec.returnPath.mode === 'Vxlan' ? ownUnderlay(snapshot, portMapClass, node, host) : null;
  const taken = takenPorts(portMapClass, linkListener(portMapClass, host), present);
  const foreign = foreignTunnel(portMapClass, host);
  const problems = [
    ...(host.findings?.failed ?? []),
    ...(foreign === null ? [] : [foreign]),
    ...(absent.length === 0 ? [] : [`interface ${absent.join(', ')} is not on this node`]),
    ...(underlay !== null && 'missing' in underlay ? [underlay.missing] : []),
    ...(taken.length <= takenPortsLimit
      ? []
      : [`${taken.length} ports are in use on this node, of which only the first ${takenPortsLimit} are refused`]),
  ];
  const addresses = Object.fromEntries(
    present.flatMap(({ name, addresses: [address] }) => (address === undefined ? [] : [[name, address]])),
  );
  const said = nodeRowOf(portMapClass, node);
  // Before the host has been checked, what the last agent found stands: a restart alone must not change the row.
  const { ready, message } =
    host.findings === undefined && said !== undefined
      ? said
      : {
          ready: problems.length === 0,
          message: shortMessage([...problems, ...(host.findings?.warnings ?? [])].join('; ')),
        };
  return {
    name: node,
    ready,
    message,
    ...(underlay === null || 'missing' in underlay
      ? {}
      : { underlayAddress: underlay.address, underlayMTU: underlay.mtu, linkMTU: underlay.mtu - encapsulationBytes }),
    ...(Object.keys(addresses).length === 0 ? {} : { addresses }),
    ...(taken.length === 0 ? {} : { takenPorts: taken.slice(0, takenPortsLimit) }),
  };
}

/** Why no link of the class can be made here: its UDP port belongs to somebody else. */
function foreignTunnel(portMapClass: PortMapClass, { listeners }: HostFacts): string | null {
  if (portMapClass.spec.returnPath.mode !== 'Vxlan') return null;
  const { port } = vxlanSettings(portMapClass);
  const holder = listeners.find((each) => each.protocol === 'UDP' && each.port === port && each.role !== ownLinkRole);
  return holder === undefined
    ? null
    : `UDP port ${port} (spec.returnPath.vxlan.port) is taken on this node by ${holder.role}: use another`;
}

/** The links' own port counts as taken whether or not a link is there just now: the row must not change with each. */
function linkListener(portMapClass: PortMapClass, host: HostFacts): HostFacts {
  if (portMapClass.spec.returnPath.mode !== 'Vxlan') return host;
  const { port } = vxlanSettings(portMapClass);
  return { ...host, listeners: [...host.listeners, { protocol: 'UDP', port, address: null, role: linkRole }] };
}

/** Listeners that a mapping on one of the class's interfaces would take the port from, among the ports it gives out. */
function takenPorts(portMapClass: PortMapClass, host: HostFacts, present: HostFacts['interfaces']): TakenPort[] {
  const { min, max } = allowedPorts(portMapClass);
  const within = host.listeners.filter((each) => each.port >= min && each.port <= max);
  const taken = within.flatMap(({ protocol, port, address, role }): TakenPort[] => {
    if (address === null) return present.length === 0 ? [] : [{ protocol, port, role }];
    const on = present.find((each) => each.addresses.includes(address));
    return on === undefined ? [] : [{ interface: on.name, protocol, port, role }];
  });
  const key = (each: TakenPort): string =>
    `${String(each.port).padStart(5, '0')}/${each.protocol}/${each.interface ?? ''}`;
  const unique = new Map(taken.map((each) => [key(each), each]));
  return [...unique].sort(([a], [b]) => byName(a, b)).map(([, each]) => each);
}
