/** Taking a neighbour off a node that is up, and putting it back. */
import { masqueradeIntoPodNetworkRule, referenceRules } from '../cni/cilium-iptables.ts';
import type { CniNode } from '../cni/cni-node.ts';
import type { HostSetup } from '../network/host-setup.ts';
import { netbirdPreferences, netbirdSetup } from './netbird.ts';
import type { NeighbourName } from './registry.ts';

export interface Absence {
  remove: HostSetup;
  restore: HostSetup;
}

export function neighbourAbsence(
  name: NeighbourName,
  node: CniNode,
  { clusterCidr }: { clusterCidr: string },
): Absence {
  if (name === 'netbird') {
    return {
      remove: {
        ip: netbirdPreferences.map((preference) => `rule del pref ${preference}`),
        nft: 'delete table ip netbird\n',
      },
      restore: netbirdSetup(node),
    };
  }
  // Cilium's and kube-proxy's rules share the same tables: what stays is loaded in place of both.
  const tables = (kubeProxy: boolean): HostSetup => ({
    iptables: withFlushedTables(referenceRules(node, clusterCidr, { kubeProxy }), node),
  });
  return { remove: tables(false), restore: tables(true) };
}

/** iptables-restore is run with --noflush: each table's chains are emptied and removed by name first. */
function withFlushedTables(rules: string, node: CniNode): string {
  const own = node.switches.masqueradeIntoPodNetwork
    ? `*nat\n-I ${masqueradeIntoPodNetworkRule(node).join(' ')}\nCOMMIT\n`
    : '';
  return rules.replaceAll(/^\*(\w+)$/gm, '*$1\n-F\n-X') + own;
}
