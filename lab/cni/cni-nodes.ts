/** The topology's nodes as the CNI sees them. */
import { nthAddress, parseSubnet } from '../topology/ipv4.ts';
import type { Topology } from '../topology/topology.ts';
import type { CniNode } from './cni-node.ts';
import { defaultSwitches } from './switches.ts';

export function cniNodes(topology: Topology): Map<string, CniNode> {
  return new Map(
    topology.nodes.map((node, index) => {
      const site = topology.sites.find((each) => each.name === node.site);
      return [
        node.name,
        {
          name: node.name,
          index: index + 1,
          meshAddress: node.meshAddress,
          meshInterface: topology.mesh.interface,
          meshMtu: topology.mesh.mtu,
          podCidr: node.podCidr,
          routerAddress: nthAddress(parseSubnet(node.podCidr), 1),
          switches: { ...defaultSwitches, ...node.cni },
          uplink: {
            device: node.interface,
            address: node.address,
            gateway: nthAddress(parseSubnet(site?.lan ?? site?.subnet ?? '0.0.0.0/0'), 1),
          },
        },
      ];
    }),
  );
}
