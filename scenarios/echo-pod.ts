/** What most scenarios begin with: a pod that echoes on port 3000 over UDP and TCP, its Service, a class and two mappings. */

import type { ScenarioContext } from '../lab/scenario/context.ts';
import type { ClassRequest } from '../lab/scenario/kuport-objects.ts';
import type { Protocol } from '../lab/station/protocol.ts';
import type { PodPort } from '../lab/workload/objects.ts';
import type { Pod } from '../lab/workload/workload.ts';

export const echoPort = 3000;

export const echoPorts: readonly PodPort[] = [
  { name: 'echo-udp', protocol: 'UDP', port: echoPort },
  { name: 'echo-tcp', protocol: 'TCP', port: echoPort },
];

/** The public address of the topology's first accepting node, and its interface. */
export const edge = { name: 'edge-a', address: '203.0.113.9', interface: 'enp1s0' };

/** The second accepting node's. */
export const secondEdge = { name: 'edge-d', address: '203.0.113.73', interface: 'enp1s0' };

export const edgeClass: ClassRequest = {
  name: 'public',
  nodes: { [edge.name]: { interfaces: [edge.interface] } },
  returnPath: 'Vxlan',
};

/** Both public nodes accept. */
export const multiClass: ClassRequest = {
  ...edgeClass,
  servingMode: 'Multi',
  nodes: { ...edgeClass.nodes, [secondEdge.name]: { interfaces: [secondEdge.interface] } },
};

export function target(protocol: Protocol, port = echoPort): { protocol: Protocol; address: string; port: number } {
  return { protocol, address: edge.address, port };
}

/** Class, Service and a mapping per protocol, named `echo-udp` and `echo-tcp`. */
export async function mapEcho(t: ScenarioContext, portMapClass: ClassRequest = edgeClass): Promise<void> {
  await t.portMapClass(portMapClass);
  await t.service('echo', echoPorts);
  for (const { name, protocol } of echoPorts) {
    await t.portMap({
      name,
      className: portMapClass.name,
      protocol,
      port: echoPort,
      serviceRef: { name: 'echo', port: name },
    });
  }
}

/** Both mappings lead to this pod, and a first packet has come through. */
export async function echoDelivers(t: ScenarioContext, pod: Pod): Promise<void> {
  const [client] = t.clients();
  if (client === undefined) throw new Error('the topology has no client');
  for (const { name, protocol } of echoPorts) {
    await t.programmed(name, pod);
    await t.awaitDelivery(client, target(protocol), pod);
  }
}
