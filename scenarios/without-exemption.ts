/** What a pod sees when nothing claims the flow before the CNI's masquerade does. */
import { bothProtocols, type ScenarioContext } from '../lab/scenario/context.ts';
import type { Pod } from '../lab/workload/workload.ts';
import { target } from './echo-pod.ts';
import { proveDelivery } from './prove-delivery.ts';

/** Takes the exemption off the pod's node, checks that every client then shows as the node, and lets the agent mend it. */
export async function nodeHidesClients(t: ScenarioContext, pod: Pod): Promise<void> {
  const { node } = pod.record;
  const router = t.lab.nodes.get(node)?.routerAddress ?? '';
  await proveDelivery(t, pod, `pod on ${node}, with the exemption`);
  await t.withoutAgents(async () => {
    await t.host(node).exec(['nft', 'flush', 'chain', 'ip', 'kuport', 'kup-post']);
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) {
        const result = await t.exchange(client, target(protocol), { note: `pod on ${node}, without the exemption` });
        const title = `${client.name} ${protocol}, pod on ${node}: the pod sees the node instead of the client`;
        t.record.same('assertion', title, router, result.reply?.peer ?? result.outcome);
      }
    }
  });
  await t.seesClientAgain(target('UDP'), pod);
  await proveDelivery(t, pod, `pod on ${node}, restored`);
}
