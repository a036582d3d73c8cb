/**
 * netbird on a node: its ip rules and table, its marks, and its policy enforced by filter rules on the mesh interface.
 * A lab without them would prove deliveries that no netbird node makes. Chains and rules are those of `nft list table ip
 * netbird` on nodes that run it, with counters and comments added.
 */
import type { CniNode } from '../cni/cni-node.ts';
import type { HostSetup } from '../network/host-setup.ts';

/** netbird's marks. Those of flows are conntrack marks, written whole: nobody else's bits survive. */
const marks = {
  /** Packets of WireGuard's own socket and of netbird's control connections. */
  control: '0x1bd00',
  flowIn: '0x1bd10',
  flowOut: '0x1bd11',
  /** Admitted by policy for this node; netbird's forward filter lets it through when others have redirected it. */
  admitted: '0x1bd20',
  masquerade: '0x1bd21',
  masqueradeReturn: '0x1bd22',
};

/** Table of netbird's own routes; empty unless an exit node is in use. */
export const netbirdTable = 7120;

/** Preferences of its ip rules: main table without default routes, then its own table for all but its own packets. */
export const netbirdPreferences = [105, 110] as const;

/** What peers may send to this node. netbird names sources too; here every peer is in the one group that it starts with. */
export type MeshPermission =
  | { protocol: 'icmp' }
  | { protocol: 'tcp' | 'udp'; ports: readonly (number | readonly [first: number, last: number])[] };

export type MeshPolicy = readonly MeshPermission[];

const nodePorts = [30000, 32767] as const;

/** What a cluster's policy has to admit: API server, kubelet, node ports, the CNI's tunnel, the links of kuport's classes. */
export const defaultMeshPolicy: MeshPolicy = [
  { protocol: 'tcp', ports: [6443, 10250, nodePorts] },
  { protocol: 'udp', ports: [8472, 4790, nodePorts] },
  { protocol: 'icmp' },
];

function match(permission: MeshPermission): string {
  if (permission.protocol === 'icmp') return 'meta l4proto icmp';
  const ports = permission.ports.map((port) => (typeof port === 'number' ? port : `${port[0]}-${port[1]}`));
  return `${permission.protocol} dport { ${ports.join(', ')} }`;
}

/** Where the iptables filter table is in use, netbird opens it for its interface: its own table is to decide alone. */
function filterAccepts(device: string, change: 'insert' | 'delete'): string {
  const rule = (chain: string, words: string): string =>
    change === 'insert' ? `-I ${chain} 1 ${words} -j ACCEPT` : `-D ${chain} ${words} -j ACCEPT`;
  return `*filter
${rule('FORWARD', `-i ${device}`)}
${rule('FORWARD', `-o ${device} -m conntrack --ctstate RELATED,ESTABLISHED`)}
${rule('INPUT', `-i ${device}`)}
COMMIT
`;
}

/** Applied after the CNI's and kube-proxy's rules, before which its accepting rules go in the filter table. */
export function netbirdSetup(node: CniNode, policy: MeshPolicy = defaultMeshPolicy): HostSetup {
  const device = node.meshInterface;
  const admitted = policy.map(match);
  const lines = (rule: (words: string) => string): string => admitted.map((words) => `    ${rule(words)}\n`).join('');
  return {
    ip: [
      `rule add pref ${netbirdPreferences[0]} lookup main suppress_prefixlength 0`,
      `rule add pref ${netbirdPreferences[1]} not fwmark ${marks.control} lookup ${netbirdTable}`,
    ],
    // It also turns rp_filter from 1 to 2 on all but its own device; a Cilium node has it at 0.
    sysctls: { 'net.ipv4.conf.all.src_valid_mark': '1' },
    iptables: filterAccepts(device, 'insert'),
    nft: `table ip netbird {
  chain netbird-rt-fwd {
    ct state established,related counter accept
  }
  chain netbird-rt-postrouting {
    type nat hook postrouting priority srcnat - 1; policy accept;
    meta mark ${marks.masquerade} oifname != "lo" counter masquerade
    meta mark ${marks.masqueradeReturn} oifname "${device}" counter masquerade
  }
  chain netbird-rt-redirect {
    type nat hook prerouting priority dstnat; policy accept;
  }
  chain netbird-mangle-postrouting {
    type filter hook postrouting priority mangle; policy accept;
    oifname "${device}" ct state new counter ct mark set ${marks.flowOut} comment "new flow into the mesh"
  }
  chain netbird-mangle-prerouting {
    type filter hook prerouting priority mangle; policy accept;
    iifname "${device}" ct state new counter ct mark set ${marks.flowIn} comment "new flow from the mesh"
${lines((words) => `iifname "${device}" ${words} fib daddr type local counter meta mark set ${marks.admitted} comment "admitted by policy"`)}  }
  chain netbird-mangle-forward {
    type filter hook forward priority mangle; policy accept;
    oifname "${device}" tcp flags syn counter tcp option maxseg size > ${node.meshMtu - 40} tcp option maxseg size set ${node.meshMtu - 40}
  }
  chain netbird-acl-input-rules {
    ct state established,related counter accept
${lines((words) => `${words} counter accept`)}  }
  chain netbird-acl-input-filter {
    type filter hook input priority filter; policy accept;
    iifname "${device}" jump netbird-acl-input-rules
    iifname "${device}" counter drop comment "no policy admits it"
  }
  chain netbird-acl-forward-filter {
    type filter hook forward priority filter; policy accept;
    meta mark ${marks.admitted} counter accept comment "admitted and translated"
    iifname "${device}" jump netbird-rt-fwd
    iifname "${device}" counter drop comment "mesh traffic that is not for this node"
  }
}
`,
  };
}

export function netbirdRemoval(node: CniNode): HostSetup {
  return {
    ip: netbirdPreferences.map((preference) => `rule del pref ${preference}`),
    sysctls: { 'net.ipv4.conf.all.src_valid_mark': '0' },
    iptables: filterAccepts(node.meshInterface, 'delete'),
    nft: 'delete table ip netbird\n',
  };
}
