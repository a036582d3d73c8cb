/** Taking a neighbour off a node that is up, and putting it back. */
import type { CniNode } from '../cni/cni-node.ts';
import type { HostSetup } from '../network/host-setup.ts';

import { kubeProxyRemoval, kubeProxyServices, kubeProxySetup } from './kube-proxy.ts';
import { merged } from './merged.ts';
import { netbirdRemoval, netbirdSetup } from './netbird.ts';
import type { NeighbourName } from './registry.ts';
import type { ServicePort } from './service-rules.ts';

export interface Absence {
  remove: HostSetup;
  restore: HostSetup;
}

/**
 * Neither touches a rule of the CNI's or of another neighbour's.
 * @param services those that kube-proxy knows; none in a lab that was not given any
 */
export function neighbourAbsence(
  name: NeighbourName,
  node: CniNode,
  { clusterCidr, services = [] }: { clusterCidr: string; services?: readonly ServicePort[] },
): Absence {
  switch (name) {
    case 'netbird':
      return { remove: netbirdRemoval(node), restore: netbirdSetup(node) };
    case 'kube-proxy':
      return {
        remove: kubeProxyRemoval(services),
        restore: merged([kubeProxySetup(), kubeProxyServices(services, { clusterCidr })]),
      };
  }
}
