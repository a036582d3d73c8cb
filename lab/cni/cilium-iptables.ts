/** Cilium's own iptables rules for one node. */
import type { CniNode } from './cni-node.ts';
import { formatIptables, selectLines } from './iptables-text.ts';
import { referenceRules, withNodeAddresses } from './reference.ts';

/** The rule of a CNI that rewrites everything which enters the pod network, first in Cilium's chain. */
export function masqueradeIntoPodNetworkRule(node: CniNode): string[] {
  return [
    ...['CILIUM_POST_nat', '!', '-s', node.podCidr, '-o', 'cilium_host', '-m', 'comment', '--comment'],
    ...['lab: masquerade into the pod network', '-j', 'SNAT', '--to-source', node.routerAddress],
  ];
}

/**
 * Input of `iptables-restore --noflush`: the reference node's rules but for kube-proxy's, chain by chain in their order.
 * Rules of a neighbour that stand before Cilium's are inserted by the neighbour (see lab/neighbours/kube-proxy.ts).
 */
export function ciliumIptables(node: CniNode, clusterCidr: string): string {
  const own = selectLines(referenceRules(), (line) => !line.includes('KUBE-'));
  const rules = withNodeAddresses(formatIptables(own), node, clusterCidr);
  if (!node.switches.masqueradeIntoPodNetwork) return rules;
  const [chain, ...match] = masqueradeIntoPodNetworkRule(node).map((word) => (word.includes(' ') ? `"${word}"` : word));
  return `${rules}*nat\n-I ${chain} 1 ${match.join(' ')}\nCOMMIT\n`;
}
