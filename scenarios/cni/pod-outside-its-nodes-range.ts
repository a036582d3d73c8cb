import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';

/** From another pool than the nodes' ranges, as multi-pool address management gives out. */
const addresses = { [edge.name]: '10.245.17.10', 'worker-b': '10.245.18.10' };

export default scenario({
  sentence:
    "Cilium's own rule rewrites the client on the way to a pod outside its node's range; kuport claims the flow first, and without that the pod sees the node",
  timeoutMs: 40_000,
  async run(t) {
    await mapEcho(t);
    for (const [node, address] of Object.entries(addresses)) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts, address });
      await echoDelivers(t, pod);
      for (const client of t.clients()) {
        for (const protocol of bothProtocols) await t.delivers(client, target(protocol), pod);
      }
      const router = t.lab.nodes.get(node)?.routerAddress ?? '';
      await t.withoutAgents(async () => {
        await t.host(node).exec(['nft', 'flush', 'chain', 'ip', 'kuport', 'kup-post']);
        for (const client of t.clients()) {
          for (const protocol of bothProtocols) {
            const result = await t.exchange(client, target(protocol), {
              note: `pod on ${node}, without the exemption`,
            });
            t.record.same(
              'assertion',
              `${client.name} ${protocol}, pod on ${node}: the pod sees the node instead of the client`,
              router,
              result.reply?.peer ?? result.outcome,
            );
          }
        }
      });
      await t.seesClientAgain(target('UDP'), pod);
      await t.lab.workload.stopPod(pod);
    }
  },
});
