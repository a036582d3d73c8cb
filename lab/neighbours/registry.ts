/** What else lives on real nodes. Every lab node has all of it unless a scenario leaves one out. */
import type { CniNode } from '../cni/cni-node.ts';
import type { HostSetup } from '../network/host-setup.ts';
import { kubeProxySetup } from './kube-proxy.ts';
import { netbirdSetup } from './netbird.ts';

/** What a neighbour brings to a node that has its CNI. */
export type Neighbour = (node: CniNode) => HostSetup;

/** In the order in which they come: each puts its iptables rules before those that are there. */
const neighbours = {
  'kube-proxy': kubeProxySetup,
  netbird: (node) => netbirdSetup(node),
} as const satisfies Record<string, Neighbour>;

export type NeighbourName = keyof typeof neighbours;

export const neighbourNames = Object.keys(neighbours) as readonly NeighbourName[];

/** Set-ups of the wanted neighbours, in the order to apply them, after the CNI's. */
export function neighbourSetups(node: CniNode, wanted: readonly NeighbourName[]): HostSetup[] {
  return neighbourNames.filter((name) => wanted.includes(name)).map((name) => neighbours[name](node));
}
