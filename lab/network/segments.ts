/** Which hosts a topology has and which of them share a wire. */

import type { HostRole } from '../backends/host.ts';
import { nthAddress, parseSubnet } from '../topology/ipv4.ts';
import type { Site, Topology } from '../topology/topology.ts';

export interface Attachment {
  host: string;
  device: string;
  address: string;
  prefixLength: number;
}

/** One layer-2 network: the gateway's device and the hosts behind it. */
export interface Segment {
  gateway: Attachment;
  hosts: Attachment[];
}

/** Every gateway's MAC on its own segment, the same in every run: a capture shows at once what went to the gateway. */
export const gatewayMac = '02:00:00:00:00:01';

export function routerName(site: Site): string {
  return `router-${site.name}`;
}

/** Every host of the topology with its role; pods come and go and are not among them. */
export function hostsOf(topology: Topology): { name: string; role: HostRole }[] {
  return [
    { name: 'internet', role: 'internet' },
    ...topology.sites
      .filter((site) => site.lan !== undefined)
      .map((site) => ({ name: routerName(site), role: 'router' as const })),
    { name: topology.control.name, role: 'control' },
    ...topology.nodes.map((node) => ({ name: node.name, role: 'node' as const })),
    ...topology.clients.map((client) => ({ name: client.name, role: 'client' as const })),
  ];
}

export function segmentsOf(topology: Topology): Segment[] {
  const members = [
    topology.control,
    ...topology.nodes,
    ...topology.clients.map((client) => ({ ...client, interface: 'eth0' })),
  ];
  return topology.sites.flatMap((site) => {
    const outside = parseSubnet(site.subnet);
    const internet = {
      host: 'internet',
      device: site.name,
      address: nthAddress(outside, 1),
      prefixLength: outside.prefixLength,
    };
    const attach = (prefixLength: number): Attachment[] =>
      members
        .filter((member) => member.site === site.name)
        .map((member) => ({ host: member.name, device: member.interface, address: member.address, prefixLength }));
    if (site.lan === undefined || site.router === undefined)
      return [{ gateway: internet, hosts: attach(outside.prefixLength) }];
    const lan = parseSubnet(site.lan);
    const router = routerName(site);
    return [
      {
        gateway: internet,
        hosts: [{ host: router, device: 'wan', address: site.router, prefixLength: outside.prefixLength }],
      },
      {
        gateway: { host: router, device: 'lan', address: nthAddress(lan, 1), prefixLength: lan.prefixLength },
        hosts: attach(lan.prefixLength),
      },
    ];
  });
}
