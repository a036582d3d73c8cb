import { masqueradeIntoPodNetworkRule } from '../../lab/cni/cilium-iptables.ts';
import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

export default scenario({
  sentence:
    "Where the CNI masquerades everything that enters the pod network, the pod sees its node's address unless kuport claims the flow first",
  timeoutMs: 40_000,
  async run(t) {
    for (const node of [edge.name, 'worker-b']) {
      const cni = t.lab.nodes.get(node);
      if (cni === undefined) throw new Error(`no node ${node}`);
      const [chain = '', ...match] = masqueradeIntoPodNetworkRule(cni);
      const host = t.host(node);
      await host.exec(['iptables', '-t', 'nat', '-I', chain, '1', ...match]);
      t.defer(`masquerade on ${node}`, () => host.exec(['iptables', '-t', 'nat', '-D', chain, ...match]));
    }
    await mapEcho(t);
    for (const node of [edge.name, 'worker-b']) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts });
      await echoDelivers(t, pod);
      await proveDelivery(t, pod, `pod on ${node}, with the exemption`);
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
      await proveDelivery(t, pod, `pod on ${node}, restored`);
      await t.lab.workload.stopPod(pod);
    }
  },
});
