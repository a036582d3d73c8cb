/**
 * Everything in which a lab node deliberately differs from the reference node. The tests hold the two against each other
 * line by line and allow for nothing that does not stand here; an entry that no longer matches any line fails them too.
 */
import type { ReferenceFile } from './reference.ts';

export interface Difference {
  file: ReferenceFile;
  /** `reference`: the lab has no such line. `lab`: the reference has none. */
  only: 'reference' | 'lab';
  line: RegExp;
  reason: string;
}

export const differences: readonly Difference[] = [
  {
    file: 'iptables-save.txt',
    only: 'lab',
    line: /^-A (INPUT|FORWARD) -[io] wt0 /,
    reason: 'netbird, a neighbour that the reference cluster did not have',
  },
  {
    file: 'ip-rule.txt',
    only: 'lab',
    line: /^1(05|10):/,
    reason: 'netbird, a neighbour that the reference cluster did not have',
  },
  {
    file: 'sysctl.txt',
    only: 'reference',
    line: /^net\.ipv4\.conf\.all\.src_valid_mark = 0$/,
    reason: 'netbird sets it to 1',
  },
  {
    file: 'sysctl.txt',
    only: 'lab',
    line: /^net\.ipv4\.conf\.all\.src_valid_mark = 1$/,
    reason: 'netbird sets it to 1',
  },
  {
    file: 'sysctl.txt',
    only: 'reference',
    line: /^net\.ipv4\.conf\.all\.send_redirects = 1$/,
    reason: 'the lab turns redirects off: they would teach clients short cuts',
  },
  {
    file: 'sysctl.txt',
    only: 'lab',
    line: /^net\.ipv4\.conf\.all\.send_redirects = 0$/,
    reason: 'the lab turns redirects off: they would teach clients short cuts',
  },
  {
    file: 'ip-addr.txt',
    only: 'reference',
    line: /^lxc_health /,
    reason: "Cilium's health endpoint; nothing in the lab asks it",
  },
  {
    file: 'ip-addr.txt',
    only: 'lab',
    line: /^lxc\d+ NOARP /,
    reason: "without Cilium's program nobody answers a pod's ARP for its gateway, so the pods' cables do without ARP",
  },
  {
    file: 'ip-addr.txt',
    only: 'reference',
    line: /^lxc[0-9a-f]+ - /,
    reason: "without Cilium's program nobody answers a pod's ARP for its gateway, so the pods' cables do without ARP",
  },
];

/** Parts of lines that are taken out or replaced before anything is compared or applied. */
export const changes: readonly { part: RegExp; by: string; reason: string }[] = [
  {
    part: /-m nfacct --nfacct-name {2}\w+ /g,
    by: '',
    reason: 'names a kernel accounting object that kube-proxy makes by netlink; none of the lab tools can',
  },
];

/**
 * The programs that the reference node runs, and what stands in for each. Measured: tc here has neither act_skbedit nor
 * act_tunnel_key, so it can set no mark; nftables at netdev ingress can.
 */
export const programs: readonly { attachment: RegExp; standIn: string }[] = [
  {
    attachment: /^lxc\w+\(\d+\) tcx\/ingress cil_from_container/,
    standIn:
      'netdev chain lxcN: sets the mark, redirects to local pods and into the tunnel; the rest goes to the stack',
  },
  {
    attachment: /^cilium_net\(\d+\) tcx\/ingress cil_to_host/,
    standIn: 'netdev chain from-host: redirects what the stack sent to cilium_host, past a second netfilter pass',
  },
  {
    attachment: /^cilium_vxlan\(\d+\) tcx\/ingress cil_from_overlay/,
    standIn: 'one tc redirect per pod; what is for the node itself goes to the stack',
  },
  {
    attachment: /^cilium_host\(\d+\) tcx\/egress cil_from_host/,
    standIn:
      'netdev chain from-host, at the other end of the same cable: this kernel knows no netdev egress by name here',
  },
  {
    attachment: /^cilium_vxlan\(\d+\) tcx\/egress cil_to_overlay/,
    standIn: 'forwarding database: the destination MAC names the peer, where Cilium sets the tunnel key',
  },
  {
    attachment: /^cilium_host\(\d+\) tcx\/ingress cil_to_host/,
    standIn: 'none: only proxy redirection passes there, and the lab has no L7 proxy',
  },
  {
    attachment: /^eth0\(\d+\) tcx\/ingress cil_from_netdev/,
    standIn:
      'none: without kube-proxy replacement it passes everything to the stack (measured: pod-addressed packets are delivered)',
  },
];
