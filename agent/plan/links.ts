/** Links between an accepting node and a pod's node: slots, addresses, names, MTU. All agents derive the same. */
import { createHash } from 'node:crypto';
import { vxlanSettings } from '../api/defaults.ts';
import type { LinkStatus, PortMapClass } from '../api/types.ts';
import { formatAddress, parseSubnet } from './ipv4.ts';
import type { PlannedLink } from './node-plan.ts';
import { byName, type ClusterSnapshot } from './snapshot.ts';
import { nodeRowOf, type OwnUnderlay, underlayAddress, underlayProblem } from './underlay.ts';

/** Bytes of VXLAN over IPv4: outer Ethernet-less IP 20, UDP 8, VXLAN 8, inner Ethernet 14. */
export const encapsulationBytes = 50;

/** A slot nobody has needed for this long is free again: 24 hours, in milliseconds. */
export const slotRetentionMs = 24 * 60 * 60 * 1000;

export function linkKey(a: string, b: string): string {
  return [a, b].sort(byName).join('/');
}

/** `kup-` and the first 8 hex digits of sha256(class, newline, peer): both ends name their own device without asking. */
export function linkDevice(className: string, peer: string): string {
  return `kup-${createHash('sha256').update(`${className}\n${peer}`).digest('hex').slice(0, 8)}`;
}

export function recordedLink(portMapClass: PortMapClass, a: string, b: string): LinkStatus | undefined {
  const key = linkKey(a, b);
  return portMapClass.status?.links?.find((link) => link.key === key);
}

/** How many links the class's subnet and VNI range have room for; 0 when the subnet does not parse. */
export function slotCount(portMapClass: PortMapClass): number {
  const { vni, subnet } = vxlanSettings(portMapClass);
  const parsed = parseSubnet(subnet);
  // A VNI has 24 bits.
  return parsed === null ? 0 : Math.min(parsed.size / 2, 2 ** 24 - vni);
}

/** VNIs of the recorded links of a class, in order. */
export function usedVnis(portMapClass: PortMapClass): number[] {
  const { vni } = vxlanSettings(portMapClass);
  return (portMapClass.status?.links ?? []).map((link) => vni + link.slot).sort((a, b) => a - b);
}

/** VNIs that links of other classes hold on the class's UDP port, in order. */
export function foreignVnis(snapshot: ClusterSnapshot, portMapClass: PortMapClass): number[] {
  const { port } = vxlanSettings(portMapClass);
  return snapshot.classes
    .filter((other) => other.metadata.name !== portMapClass.metadata.name && vxlanSettings(other).port === port)
    .flatMap(usedVnis)
    .sort((a, b) => a - b);
}

/**
 * The lowest slot that no recorded link holds, or null when all are taken.
 * @param foreignVnis VNIs that links of other classes hold on the same UDP port: the kernel keys a device by the two
 */
export function freeSlot(portMapClass: PortMapClass, foreignVnis: readonly number[] = []): number | null {
  const taken = new Set(portMapClass.status?.links?.map((link) => link.slot));
  const count = slotCount(portMapClass);
  const { vni } = vxlanSettings(portMapClass);
  for (let slot = 0; slot < count; slot++) if (!taken.has(slot) && !foreignVnis.includes(vni + slot)) return slot;
  return null;
}

/** The /31 of a slot. @throws Error when the class's subnet does not parse: such a class has no slots to ask for */
export function slotSubnet(portMapClass: PortMapClass, slot: number): { lower: string; upper: string; text: string } {
  const subnet = parseSubnet(vxlanSettings(portMapClass).subnet);
  if (subnet === null) throw new Error(`class ${portMapClass.metadata.name}: subnet does not parse`);
  const lower = subnet.base + 2 * slot;
  return { lower: formatAddress(lower), upper: formatAddress(lower + 1), text: `${formatAddress(lower)}/31` };
}

/** This node's end of the link to `peer`, or null while the slot is not recorded or an end has no address of its own. */
export function plannedLink(
  snapshot: ClusterSnapshot,
  portMapClass: PortMapClass,
  node: string,
  peer: string,
  own: OwnUnderlay,
): PlannedLink | null {
  const recorded = recordedLink(portMapClass, node, peer);
  const peerUnderlayAddress = underlayAddress(snapshot, portMapClass, peer);
  if (recorded === undefined || recorded.slot >= slotCount(portMapClass) || peerUnderlayAddress === undefined)
    return null;
  // Whatever this node knows of itself: the other end sees what is in status, and both must come to the same.
  if ([node, peer].some((end) => underlayProblem(snapshot, portMapClass, end) !== null)) return null;
  const { vni, port } = vxlanSettings(portMapClass);
  const { lower, upper } = slotSubnet(portMapClass, recorded.slot);
  const isLower = byName(node, peer) < 0;
  return {
    device: linkDevice(portMapClass.metadata.name, peer),
    className: portMapClass.metadata.name,
    peer,
    vni: vni + recorded.slot,
    port,
    underlayAddress: own.address,
    peerUnderlayAddress,
    address: isLower ? lower : upper,
    peerAddress: isLower ? upper : lower,
    // A peer without a row yet leaves the link at this node's own figure.
    mtu: Math.min(own.mtu, nodeRowOf(portMapClass, peer)?.underlayMTU ?? own.mtu) - encapsulationBytes,
  };
}
