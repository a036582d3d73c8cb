/** Addresses that carry links between nodes: each node knows its own from its host, the others' from the class status. */
import { vxlanSettings } from '../api/defaults.ts';
import type { PortMapClass, PortMapClassNodeStatus } from '../api/types.ts';
import type { HostFacts } from './node-plan.ts';
import { type ClusterSnapshot, internalAddress } from './snapshot.ts';

export interface OwnUnderlay {
  address: string;
  /** Bytes. */
  mtu: number;
}

/** The interface and address that carry this node's links, as the host has them now; or what is missing there. */
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
  const address = nodeAddress(snapshot, node);
  const carrier = host.interfaces.find((each) => address !== undefined && each.addresses.includes(address));
  if (address === undefined || carrier === undefined) {
    return {
      missing: `no interface here has the Node's InternalIP ${address ?? '(none)'}: set spec.returnPath.vxlan.underlayInterface`,
    };
  }
  return { address, mtu: carrier.mtu };
}

function nodeAddress(snapshot: ClusterSnapshot, node: string): string | undefined {
  const object = snapshot.nodes.find((each) => each.metadata?.name === node);
  return object === undefined ? undefined : internalAddress(object);
}

export function nodeRowOf(portMapClass: PortMapClass, node: string): PortMapClassNodeStatus | undefined {
  return portMapClass.status?.nodes?.find((each) => each.name === node);
}

/**
 * The address that carries a node's links, as the others see it: what it reports. Before it has reported, the Node's
 * InternalIP, unless the class wants another interface's.
 */
export function underlayAddress(
  snapshot: ClusterSnapshot,
  portMapClass: PortMapClass,
  node: string,
): string | undefined {
  const row = nodeRowOf(portMapClass, node);
  if (row !== undefined) return row.underlayAddress;
  return vxlanSettings(portMapClass).underlayInterface === undefined ? nodeAddress(snapshot, node) : undefined;
}

/** Two nodes that report one address, if there are any. Rows come sorted by name. */
export function sharedUnderlay(portMapClass: PortMapClass): { address: string; nodes: [string, string] } | null {
  const holders = new Map<string, string>();
  for (const { name, underlayAddress: address } of portMapClass.status?.nodes ?? []) {
    if (address === undefined) continue;
    const other = holders.get(address);
    if (other !== undefined) return { address, nodes: [other, name] };
    holders.set(address, name);
  }
  return null;
}

/** Why nothing can be sent to a node's end of a link, or null. The same to every agent. */
export function underlayProblem(snapshot: ClusterSnapshot, portMapClass: PortMapClass, node: string): string | null {
  const address = underlayAddress(snapshot, portMapClass, node);
  if (address === undefined) {
    const said = nodeRowOf(portMapClass, node)?.message ?? 'it has not reported one yet';
    return `node ${node} has no address that could carry the link: ${said}`;
  }
  const other = portMapClass.status?.nodes?.find((row) => row.name !== node && row.underlayAddress === address);
  if (other === undefined) return null;
  return `nodes ${node} and ${other.name} both report underlay address ${address}: set spec.returnPath.vxlan.underlayInterface of class ${portMapClass.metadata.name}`;
}
