import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import type { PodPort } from '../../lab/workload/objects.ts';
import { edgeClass, target } from '../echo-pod.ts';

const first = 27015;
const last = 27115;
const ports: readonly PodPort[] = bothProtocols.map((protocol) => ({
  name: `game-${protocol.toLowerCase()}`,
  protocol,
  port: first,
  endPort: last,
}));

export default scenario({
  sentence: 'A range of ports maps to itself from its first port to its last, and to nothing beyond',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', name: 'game', app: 'game', ports });
    await t.portMapClass(edgeClass);
    await t.service('game', ports);
    for (const { name, protocol } of ports) {
      await t.portMap({
        name,
        className: edgeClass.name,
        protocol,
        port: first,
        endPort: last,
        serviceRef: { name: 'game', port: name },
      });
    }
    const [anyone] = t.clients();
    for (const { name, protocol } of ports) {
      await t.programmed(name, pod);
      if (anyone !== undefined) await t.awaitDelivery(anyone, target(protocol, first), pod);
    }
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) {
        for (const port of [first, (first + last) / 2, last]) {
          const result = await t.delivers(client, target(protocol, port), pod);
          t.record.same(
            'assertion',
            `${client.name}: the pod's port is the dialled one`,
            port,
            result.reply?.port ?? null,
          );
        }
        const outside = await t.exchange(client, target(protocol, last + 1), {
          timeoutMs: t.silenceMs,
          note: 'outside the range',
        });
        // The node itself answers a closed TCP port with a reset; UDP stays silent on an unconnected socket.
        t.record.same(
          'negative',
          `${client.name} ${protocol} port ${last + 1}, one beyond the range`,
          protocol === 'TCP' ? 'refused' : 'timeout',
          outside.outcome,
        );
      }
    }
  },
});
