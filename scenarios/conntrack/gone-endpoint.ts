import type { ScenarioContext } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';
import { send, sendUntil } from '../steady-sender.ts';

const sourcePort = 41_100;
/** From the end of the pod until its sender is refused, in milliseconds. */
const refusedMs = 1000;
const later = 10;

/** Packets on their way to an address, whoever sends them there. */
async function countTo(t: ScenarioContext, node: string, address: string): Promise<() => Promise<number>> {
  const host = t.host(node);
  await host.exec(['nft', '-f', '-'], {
    input: `table ip lab-watch {
  chain out { type filter hook postrouting priority raw; ip daddr ${address} udp dport ${echoPort} counter; }
}
`,
  });
  t.defer(`watch on ${node}`, () => host.exec(['nft', 'delete', 'table', 'ip', 'lab-watch']));
  return async () =>
    Number(/packets (\d+)/.exec((await host.exec(['nft', 'list', 'table', 'ip', 'lab-watch'])).stdout)?.[1]);
}

export default scenario({
  sentence:
    'When the pod of a mapping is gone, a client that goes on sending from its port is refused within a second, and no packet of it is sent to the dead address',
  async run(t) {
    await mapEcho(t);
    for (const node of [edge.name, 'worker-b']) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts });
      await echoDelivers(t, pod);
      await proveDelivery(t, pod, `pod on ${node}`);
      const packets = await countTo(t, node, pod.record.address);
      const clients = t.clients();
      for (const client of clients) {
        const result = await send(t, client, sourcePort, 'the pod answers');
        t.record.same('positive control', `${client.name}: the pod answers`, 'answered', result.outcome);
      }
      const seen = await packets();
      t.record.check(
        'positive control',
        `${node}: packets to the living pod`,
        'at least 2',
        seen,
        seen >= clients.length,
      );
      const gone = t.lab.workload.stopPod(pod);
      const refused = clients.map(async (client) => {
        await gone;
        return sendUntil(t, client, sourcePort, {
          note: 'the pod is gone',
          forMs: t.pace.time(refusedMs) * 3,
          until: ({ outcome }) => outcome === 'refused',
        });
      });
      for (const [index, took] of (await Promise.all(refused)).entries()) {
        t.record.check(
          'assertion',
          `${clients[index]?.name}: refused after the pod on ${node} has gone`,
          `within ${t.pace.time(refusedMs)} ms`,
          took === null ? 'not at all' : `${took} ms`,
          took !== null && took <= t.pace.time(refusedMs),
        );
      }
      const before = await packets();
      for (const client of clients)
        for (let n = 0; n < later; n++) await send(t, client, sourcePort, 'goes on sending');
      t.record.same('assertion', `${node}: packets to the dead address since`, 0, (await packets()) - before);
      await t.host(node).exec(['nft', 'delete', 'table', 'ip', 'lab-watch']);
      await t.host(node).exec(['nft', 'add', 'table', 'ip', 'lab-watch']);
    }
  },
});
