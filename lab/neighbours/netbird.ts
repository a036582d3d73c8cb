/**
 * netbird on a node: its ip rules and table, its marks, and its policy enforced by filter rules on the mesh interface.
 * A lab without them would prove deliveries that no netbird node makes.
 */
import type { CniNode } from '../cni/cni-node.ts';
import type { HostSetup } from '../network/host-setup.ts';

/** Marks of netbird's own: control packets, new flows from the mesh (conntrack), admitted packets to this node. */
const marks = { outer: '0x1bd00', meshFlow: '0x1bd10', admitted: '0x1bd20' };

/** Table of netbird's own routes; empty unless an exit node is in use. */
export const netbirdTable = 7120;

/** Preferences of its ip rules: main table without default routes, then its own table for all but its own packets. */
export const netbirdPreferences = [105, 110] as const;

export interface MeshPolicy {
  /** Ports that peers may reach on this node, by protocol. */
  tcp: readonly number[];
  udp: readonly number[];
}

/** What a cluster's policy has to admit: API server and kubelet, the CNI's tunnel, the links of kuport's classes. */
export const defaultMeshPolicy: MeshPolicy = { tcp: [6443, 10250], udp: [8472, 4790] };

export function netbirdSetup(node: CniNode, policy: MeshPolicy = defaultMeshPolicy): HostSetup {
  const device = node.meshInterface;
  const admitted = [
    `tcp dport { ${policy.tcp.join(', ')} }`,
    `udp dport { ${policy.udp.join(', ')} }`,
    'meta l4proto icmp',
  ];
  return {
    ip: [
      `rule add pref ${netbirdPreferences[0]} lookup main suppress_prefixlength 0`,
      `rule add pref ${netbirdPreferences[1]} not fwmark ${marks.outer} lookup ${netbirdTable}`,
    ],
    sysctls: { 'net.ipv4.conf.all.src_valid_mark': '1', [`net.ipv4.conf.${device}.rp_filter`]: '2' },
    nft: `table ip netbird {
  chain netbird-mangle-prerouting {
    type filter hook prerouting priority mangle; policy accept;
    iifname "${device}" ct state new ct mark set ${marks.meshFlow} counter comment "new flow from the mesh"
${admitted.map((match) => `    iifname "${device}" fib daddr type local ${match} meta mark set ${marks.admitted} counter comment "admitted by policy"`).join('\n')}
  }
  chain netbird-acl-forward-filter {
    type filter hook forward priority filter; policy accept;
    iifname "${device}" ct state established,related counter accept
    iifname "${device}" meta mark ${marks.admitted} counter accept comment "admitted and translated"
    iifname "${device}" counter drop comment "mesh traffic that is not for this node"
  }
  chain netbird-acl-input-filter {
    type filter hook input priority filter; policy accept;
    iifname "${device}" ct state established,related counter accept
${admitted.map((match) => `    iifname "${device}" ${match} counter accept`).join('\n')}
    iifname "${device}" counter drop comment "no policy admits it"
  }
  chain netbird-rt-postrouting {
    type nat hook postrouting priority srcnat - 1; policy accept;
  }
}
`,
  };
}
