/** What a node reports of itself in a class's status. */
import { vxlanSettings } from '../api/defaults.ts';
import type { PortMapClass, PortMapClassNodeStatus, TakenPort } from '../api/types.ts';
import { encapsulationBytes, type OwnUnderlay } from './links.ts';
import type { HostFacts } from './node-plan.ts';
import { byName, type ClusterSnapshot, internalAddress } from './snapshot.ts';

/** The interface and address that carry this node's links, as the host has them now; null when it has none of the kind. */
export function ownUnderlay(
  snapshot: ClusterSnapshot,
  portMapClass: PortMapClass,
  node: string,
  host: HostFacts,
): OwnUnderlay | { missing: string } {
  const { underlayInterface } = vxlanSettings(portMapClass);
  if (underlayInterface !== undefined) {
    const found = host.interfaces.find((each) => each.name === underlayInterface);
    const address = found?.addresses[0];
    if (found === undefined || address === undefined) {
      return {
        missing: `underlayInterface ${underlayInterface} ${found === undefined ? 'is not on this node' : 'has no IPv4 address'}`,
      };
    }
    return { address, mtu: found.mtu };
  }
  const object = snapshot.nodes.find((each) => each.metadata?.name === node);
  const address = object === undefined ? undefined : internalAddress(object);
  const carrier = host.interfaces.find((each) => address !== undefined && each.addresses.includes(address));
  if (address === undefined || carrier === undefined) {
    return {
      missing: `no interface here has the Node's InternalIP ${address ?? '(none)'}: set spec.returnPath.vxlan.underlayInterface`,
    };
  }
  return { address, mtu: carrier.mtu };
}

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
  const problems = [
    ...(absent.length === 0 ? [] : [`interface ${absent.join(', ')} is not on this node`]),
    ...(underlay !== null && 'missing' in underlay ? [underlay.missing] : []),
  ];
  const addresses = Object.fromEntries(
    present.flatMap(({ name, addresses: [address] }) => (address === undefined ? [] : [[name, address]])),
  );
  return {
    name: node,
    ready: problems.length === 0,
    message: problems.join('; '),
    ...(underlay === null || 'missing' in underlay
      ? {}
      : { underlayAddress: underlay.address, underlayMTU: underlay.mtu, linkMTU: underlay.mtu - encapsulationBytes }),
    ...(Object.keys(addresses).length === 0 ? {} : { addresses }),
    ...takenPorts(linkListener(portMapClass, host), present),
  };
}

/** The links' own port counts as taken whether or not a link is there just now: the row must not change with each. */
function linkListener(portMapClass: PortMapClass, host: HostFacts): HostFacts {
  if (portMapClass.spec.returnPath.mode !== 'Vxlan') return host;
  const { port } = vxlanSettings(portMapClass);
  return { ...host, listeners: [...host.listeners, { protocol: 'UDP', port, address: null, role: "kuport's links" }] };
}

/** Listeners that a mapping on one of the class's interfaces would take the port from. */
function takenPorts(host: HostFacts, present: HostFacts['interfaces']): { takenPorts?: TakenPort[] } {
  const taken = host.listeners.flatMap(({ protocol, port, address, role }): TakenPort[] => {
    if (address === null) return present.length === 0 ? [] : [{ protocol, port, role }];
    const on = present.find((each) => each.addresses.includes(address));
    return on === undefined ? [] : [{ interface: on.name, protocol, port, role }];
  });
  const key = (each: TakenPort): string =>
    `${String(each.port).padStart(5, '0')}/${each.protocol}/${each.interface ?? ''}`;
  const unique = new Map(taken.map((each) => [key(each), each]));
  const sorted = [...unique].sort(([a], [b]) => byName(a, b)).map(([, each]) => each);
  return sorted.length === 0 ? {} : { takenPorts: sorted };
}
