import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, mapEcho, target } from '../echo-pod.ts';
import { onlyLink } from '../links.ts';
import { proveDelivery } from '../prove-delivery.ts';

const probes = 10;

export default scenario({
  sentence:
    'Without the rule at preference 101 every marked packet is routed back into the link: tx_errors and collisions rise by one each, and no answer comes',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'before');
    const worker = t.host('worker-b');
    const link = await onlyLink(worker);
    await t.withoutAgents(async () => {
      await worker.exec(['ip', 'rule', 'del', 'pref', '101']);
      // UDP from everyone first: the pod repeats an unanswered SYN-ACK for minutes, each time through the loop.
      for (const client of t.clients()) {
        const moved = await t.moved(
          `${probes} UDP probes from ${client.name} without the loop guard`,
          ['worker-b'],
          () =>
            Promise.all(
              Array.from({ length: probes }, () => t.silent(client, target('UDP'), 'no loop guard, no answer')),
            ),
        );
        t.record.same(
          'assertion',
          `${client.name}: collisions on ${link}`,
          probes,
          moved.packets('worker-b', 'collisions'),
        );
        t.record.same(
          'assertion',
          `${client.name}: tx errors on ${link}`,
          probes,
          moved.packets('worker-b', 'tx errors'),
        );
      }
      for (const client of t.clients()) await t.silent(client, target('TCP'), 'no loop guard, no answer');
    });
    // The agent puts the rule back by itself.
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'restored');
  },
});
