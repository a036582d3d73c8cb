/**
 * An emulation of Cilium in tunnel mode on one node: its devices, routes, ip rules and sysctls, its real iptables rules,
 * and in place of its eBPF programs a `table netdev cilium` whose ingress chains do what they do at the same place:
 * before the stack sees a packet.
 */
import type { HostSetup } from '../network/host-setup.ts';
import { ciliumIptables } from './cilium-iptables.ts';
import type { CniNode } from './cni-node.ts';

/** Bytes that VXLAN over IPv4 adds. */
const vxlanOverhead = 50;

/**
 * One MAC per node for cilium_host, cilium_net, cilium_vxlan and both ends of every pod's cable; none of them does ARP,
 * and the tunnel finds a peer by its MAC. A frame handed from one to another is then always addressed to its receiver.
 */
export function nodeMac(node: CniNode): string {
  return `0a:58:01:00:00:${node.index.toString(16).padStart(2, '0')}`;
}

/**
 * Cilium turns the reverse path filter off for `all`, because the larger of it and a device's own counts. The others are
 * named because a new namespace has its values from the host, some of which filter strictly.
 */
function unfiltered(device: string): Record<string, string> {
  return { [`net.ipv4.conf.${device}.rp_filter`]: '0' };
}

function conf(device: string): Record<string, string> {
  return {
    ...unfiltered(device),
    [`net.ipv4.conf.${device}.forwarding`]: '1',
    [`net.ipv4.conf.${device}.accept_local`]: '1',
    [`net.ipv4.conf.${device}.send_redirects`]: '0',
  };
}

/** What the node holds before it has a pod. The mesh must be up: the tunnel runs over it. */
export function cniNodeSetup(
  node: CniNode,
  peers: readonly CniNode[],
  { clusterCidr }: { clusterCidr: string },
): HostSetup {
  const tunnelMtu = node.meshMtu - vxlanOverhead;
  return {
    ip: [
      `link add cilium_host address ${nodeMac(node)} type veth peer name cilium_net address ${nodeMac(node)}`,
      'link set cilium_host arp off up',
      'link set cilium_net arp off up',
      `addr add ${node.routerAddress}/32 dev cilium_host`,
      `route add ${node.routerAddress} dev cilium_host proto kernel scope link`,
      `route add ${node.podCidr} via ${node.routerAddress} dev cilium_host proto kernel src ${node.routerAddress}`,
      ...peers.map(
        (peer) =>
          `route add ${peer.podCidr} via ${node.routerAddress} dev cilium_host proto kernel src ${node.routerAddress} mtu ${tunnelMtu}`,
      ),
      `link add cilium_vxlan address ${nodeMac(node)} type vxlan id 1 local ${node.meshAddress} dstport 8472 nolearning`,
      'link set cilium_vxlan up',
      ...peers.map((peer) => `neigh add ${peer.routerAddress} lladdr ${nodeMac(peer)} dev cilium_vxlan nud permanent`),
      'rule add pref 9 fwmark 0x200/0xf00 lookup 2004',
      'route add local default dev lo table 2004 proto kernel scope host',
      'rule add pref 100 lookup local',
      'rule del pref 0 lookup local',
    ],
    bridge: peers.map((peer) => `fdb add ${nodeMac(peer)} dev cilium_vxlan dst ${peer.meshAddress}`),
    tc: ['qdisc add dev cilium_vxlan ingress'],
    sysctls: {
      ...unfiltered('all'),
      ...unfiltered('default'),
      ...unfiltered(node.uplink.device),
      ...unfiltered(node.meshInterface),
      ...conf('cilium_host'),
      ...conf('cilium_net'),
      ...conf('cilium_vxlan'),
    },
    iptables: ciliumIptables(node, clusterCidr),
    nft: netdevTable(node, peers),
  };
}

/** Rules of chain leave-by-bpf: what a pod sends out leaves by the uplink with its own address, past the stack. */
export function bpfHostRouting(node: CniNode): string[] {
  return [
    `ip daddr { ${node.routerAddress}, ${node.meshAddress}, ${node.uplink.address} } return`,
    `counter fwd ip to ${node.uplink.gateway} device "${node.uplink.device}" comment "BPF host routing"`,
  ];
}

/**
 * The eBPF programs' stand-in (differences.ts lists which for which). Measured: this kernel has neither act_skbedit nor act_tunnel_key, so tc can set no mark;
 * nftables at netdev ingress can, and forwards to a device as redirect does. What comes out of the tunnel is handed on
 * by tc all the same (see pod.ts): nftables' forward leaves the checksum state of a decapsulated packet wrong, and the
 * pod's kernel drops answers of more than 76 bytes (measured: UdpInCsumErrors). A frame gets its receiver's MAC from a
 * neighbour entry and not by `ether daddr set`: Linux 6.18 lets no user namespace write into packets (measured: Operation
 * not permitted). This takes one off the TTL, as Cilium's programs do once on the way to a pod of another node.
 */
function netdevTable(node: CniNode, peers: readonly CniNode[]): string {
  const elements = peers.map((peer) => `${peer.podCidr} : ${peer.routerAddress}`).join(', ');
  return `table netdev cilium {
  map pods {
    type ipv4_addr : iface_index
  }
  map marks {
    type ipv4_addr : mark
  }
  map peers {
    type ipv4_addr : ipv4_addr
    flags interval${elements === '' ? '' : `\n    elements = { ${elements} }`}
  }
  chain to-peer {
    fwd ip to ip daddr map @peers device "cilium_vxlan"
  }
  chain leave-by-bpf {${node.switches.hostRouting === 'bpf' ? `\n    ${bpfHostRouting(node).join('\n    ')}` : ''}
  }
  chain from-pod {
    meta mark set ip saddr map @marks
    fwd to ip daddr map @pods
    jump to-peer
    jump leave-by-bpf
  }
  chain from-host {
    type filter hook ingress device "cilium_net" priority 0; policy accept;
    fwd to ip daddr map @pods
    jump to-peer
    # Nobody's: the program drops it. Left to the stack it would go round by cilium_host until its TTL is used up.
    ip daddr ${node.podCidr} counter drop
  }
}
`;
}
