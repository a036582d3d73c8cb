import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import type { PodPort } from '../../lab/workload/objects.ts';
import { echoPort, edge, edgeClass, target } from '../echo-pod.ts';

const podPort = 7777;
const ports: readonly PodPort[] = bothProtocols.map((protocol) => ({
  name: `echo-${protocol.toLowerCase()}`,
  protocol,
  port: podPort,
}));

export default scenario({
  sentence:
    'A pod that listens on another port than the one dialled receives there, on the same node and across nodes, and the client hears from the port it dialled',
  async run(t) {
    await t.portMapClass(edgeClass);
    await t.service('echo', ports);
    for (const { name, protocol } of ports) {
      const serviceRef = { name: 'echo', port: name };
      await t.portMap({ name, className: edgeClass.name, protocol, port: echoPort, serviceRef });
    }
    const [anyone] = t.clients();
    if (anyone === undefined) throw new Error('the topology has no client');
    for (const node of [edge.name, 'worker-b']) {
      const pod = await t.pod({ node, name: `on-${node}`, ports });
      for (const { name, protocol } of ports) {
        await t.programmed(name, pod);
        await t.awaitDelivery(anyone, target(protocol), pod);
      }
      for (const client of t.clients()) {
        for (const protocol of bothProtocols) {
          const { reply } = await t.delivers(client, target(protocol), pod);
          const title = `${client.name} ${protocol}, pod on ${node}: the pod received on`;
          t.record.same('assertion', title, podPort, reply?.port ?? null);
        }
      }
      await t.lab.workload.stopPod(pod);
    }
  },
});
