import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

/** What a client must wait at most for the refusal, in milliseconds: a round trip, on a loaded machine. */
const atOnceMs = 200;

export default scenario({
  sentence:
    'A closed UDP port of a pod refuses the client at once, from the address it dialled, on the same node and across nodes',
  async run(t) {
    await mapEcho(t);
    for (const node of [edge.name, 'worker-b']) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts });
      await echoDelivers(t, pod);
      await proveDelivery(t, pod, `pod on ${node} listens`);
      const [udp] = echoPorts;
      if (udp === undefined) throw new Error('no UDP port');
      await pod.host.station.request('echoStop', { server: pod.serverOn(udp) });
      for (const client of t.clients()) {
        const begin = performance.now();
        const result = await t.exchange(client, target('UDP'), {
          connected: true,
          timeoutMs: t.pace.packets(1000),
          note: `closed port, pod on ${node}`,
        });
        const took = Math.round(performance.now() - begin);
        t.record.same('assertion', `${client.name}: the closed port on ${node} refuses`, 'refused', result.outcome);
        t.record.check(
          'assertion',
          `${client.name}: at once`,
          `within ${t.pace.packets(atOnceMs)} ms`,
          `${took} ms`,
          took <= t.pace.packets(atOnceMs),
        );
      }
      await t.lab.workload.stopPod(pod);
    }
  },
});
