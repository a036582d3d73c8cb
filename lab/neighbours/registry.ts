/** What else lives on real nodes. Every lab node has all of it unless a scenario leaves one out. */
import type { CniNode } from '../cni/cni-node.ts';
import type { HostSetup } from '../network/host-setup.ts';
import { netbirdSetup } from './netbird.ts';

/** kube-proxy's rules come with Cilium's, in the order in which both stand on a real node (see lab/cni). */
export const neighbourNames = ['kube-proxy', 'netbird'] as const;

export type NeighbourName = (typeof neighbourNames)[number];

const setups: Partial<Record<NeighbourName, (node: CniNode) => HostSetup>> = {
  netbird: (node) => netbirdSetup(node),
};

/** Set-ups of the wanted neighbours that are not part of the CNI's own, in the order to apply them. */
export function neighbourSetups(node: CniNode, wanted: readonly NeighbourName[]): HostSetup[] {
  return wanted.flatMap((name) => {
    const setup = setups[name];
    return setup === undefined ? [] : [setup(node)];
  });
}
