import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

export default scenario({
  sentence:
    "With Cilium's default rules and a pod in its node's own range, the client's address needs no exemption: taken away on both nodes, the pod still sees the client",
  async run(t) {
    await mapEcho(t);
    for (const node of [edge.name, 'worker-b']) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts });
      await echoDelivers(t, pod);
      await proveDelivery(t, pod, `pod on ${node}`);
      await t.withoutAgents(async () => {
        for (const each of new Set([edge.name, node]))
          await t.host(each).exec(['nft', 'flush', 'chain', 'ip', 'kuport', 'kup-post']);
        for (const client of t.clients()) {
          for (const protocol of bothProtocols)
            await t.delivers(client, target(protocol), pod, { note: 'without the exemption' });
        }
      });
      await t.lab.workload.stopPod(pod);
    }
  },
});
