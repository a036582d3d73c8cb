/** A node's CNI and neighbours in one go. */
import type { CniNode } from '../cni/cni-node.ts';
import { cniNodeSetup } from '../cni/node.ts';
import type { HostSetup } from '../network/host-setup.ts';
import { merged } from './merged.ts';
import { type NeighbourName, neighbourSetups } from './registry.ts';

/** All that a node holds before it has a pod. The mesh must be up. */
export function wholeNodeSetup(
  node: CniNode,
  peers: readonly CniNode[],
  { clusterCidr, neighbours }: { clusterCidr: string; neighbours: readonly NeighbourName[] },
): HostSetup {
  return merged([cniNodeSetup(node, peers, { clusterCidr }), ...neighbourSetups(node, neighbours)]);
}
