/** A pod's cable to its node, and how the node's CNI finds the pod. */
import type { HostSetup } from '../network/host-setup.ts';
import { contains, parseAddress, parseSubnet } from '../topology/ipv4.ts';
import type { CniNode } from './cni-node.ts';
import { nodeMac } from './node.ts';

export interface CniPod {
  address: string;
  /** Unique in the lab: names the node's end of the cable and makes the pod's identity. */
  index: number;
  /** Named network namespace of the pod. */
  netns: string;
}

export function podDevice(pod: CniPod): string {
  return `lxc${pod.index}`;
}

/**
 * The mark under which Cilium's program hands a pod's packet to the stack: its identity in the high half, 0x0f00 below
 * (measured on a real node: the low half is always 0x0f00, the high half varies by pod).
 */
export function podMark(pod: CniPod): string {
  return `0x${(0x1000 + pod.index).toString(16)}0f00`;
}

/** True where the node's own route to its range does not cover the pod: an address from another pool. */
function needsRoute(node: CniNode, pod: CniPod): boolean {
  return !contains(parseSubnet(node.podCidr), parseAddress(pod.address));
}

function podRoute(node: CniNode, pod: CniPod): string | null {
  if (node.switches.endpointRoutes) return `${pod.address} dev ${podDevice(pod)} proto kernel scope link`;
  if (!needsRoute(node, pod)) return null;
  return `${pod.address} via ${node.routerAddress} dev cilium_host proto kernel src ${node.routerAddress}`;
}

/** `onNode` first: it makes the cable, whose other end `inPod` then finds. */
export function attachPod(node: CniNode, pod: CniPod): { onNode: HostSetup; inPod: HostSetup } {
  const device = podDevice(pod);
  const route = podRoute(node, pod);
  return {
    onNode: {
      ip: [
        `link add ${device} address ${nodeMac(node)} type veth peer name eth0 address ${nodeMac(node)} netns ${pod.netns}`,
        `link set ${device} arp off up`,
        ...(route === null ? [] : [`route add ${route}`]),
      ],
      tc: [
        `filter add dev cilium_vxlan ingress protocol ip prio ${pod.index} u32 match ip dst ${pod.address}/32 action mirred egress redirect dev ${device}`,
      ],
      sysctls: { [`net.ipv4.conf.${device}.forwarding`]: '1', [`net.ipv4.conf.${device}.rp_filter`]: '0' },
      nft: `add element netdev cilium pods { ${pod.address} : "${device}" }
add element netdev cilium marks { ${pod.address} : ${podMark(pod)} }
add chain netdev cilium ${device} { type filter hook ingress device "${device}" priority 0; policy accept; }
add rule netdev cilium ${device} jump from-pod
`,
    },
    inPod: {
      ip: [`addr add ${pod.address}/32 dev eth0`, 'link set eth0 arp off up', 'route add default dev eth0'],
    },
  };
}

/** Applied while the pod's device is still there, or after it went with its namespace. */
export function detachPod(node: CniNode, pod: CniPod): HostSetup {
  const route = podRoute(node, pod);
  return {
    // A route to the pod's device goes with the device; one through cilium_host stays.
    ip: route === null || node.switches.endpointRoutes ? [] : [`route del ${route}`],
    tc: [`filter del dev cilium_vxlan ingress prio ${pod.index}`],
    nft: `delete element netdev cilium pods { ${pod.address} }
delete element netdev cilium marks { ${pod.address} }
`,
  };
}
