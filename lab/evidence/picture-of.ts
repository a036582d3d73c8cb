/** A lab's topology as the drawing wants it. */
import { routerName } from '../network/segments.ts';
import { describeMesh, type MeshKinds } from '../network/wireguard.ts';
import { nthAddress, parseSubnet } from '../topology/ipv4.ts';
import type { Topology } from '../topology/topology.ts';
import type { TopologyPicture } from './topology-picture.ts';

/** @param wireguard what the mesh runs on; null for a topology that is not up */
export function pictureOf(topology: Topology, wireguard: MeshKinds | null): TopologyPicture {
  const { control, mesh } = topology;
  return {
    name: topology.name,
    sites: topology.sites.map((site) => {
      if (site.router === undefined || site.lan === undefined) return { name: site.name, kind: 'public' };
      const lanAddress = nthAddress(parseSubnet(site.lan), 1);
      return {
        name: site.name,
        kind: 'home',
        lan: site.lan,
        router: { name: routerName(site), nat: site.nat, wanAddress: site.router, lanAddress },
      };
    }),
    nodes: [
      { ...control, role: 'control', podCidr: null },
      ...topology.nodes.map((node) => ({ ...node, role: 'node' as const })),
    ],
    clients: topology.clients,
    mesh: {
      interface: mesh.interface,
      implementation: wireguard === null ? 'WireGuard' : describeMesh(wireguard),
      mtu: mesh.mtu,
    },
  };
}
