import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, multiClass, secondEdge, target } from '../echo-pod.ts';

/** An address that both accepting nodes hold; the network leads to one of them, and may change its mind. */
const virtual = '198.18.0.1';

export default scenario({
  sentence:
    'A virtual address that every accepting node holds is answered by whichever node the network leads to, also when a client that keeps its port is led to another',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    for (const { name } of [edge, secondEdge]) {
      const host = t.host(name);
      await host.exec(['ip', 'addr', 'add', `${virtual}/32`, 'dev', edge.interface]);
      t.defer(`virtual address of ${name}`, () =>
        host.exec(['ip', 'addr', 'del', `${virtual}/32`, 'dev', edge.interface]),
      );
    }
    await mapEcho(t, multiClass);
    await echoDelivers(t, pod);
    const internet = t.host('internet');
    t.defer('route to the virtual address', () => internet.exec(['ip', 'route', 'del', virtual]));
    const [first] = t.clients();
    if (first === undefined) throw new Error('no client');
    for (const { name, address } of [edge, secondEdge, edge]) {
      await internet.exec(['ip', 'route', 'replace', virtual, 'via', address]);
      await t.awaitDelivery(first, { ...target('UDP'), address: virtual }, pod);
      for (const client of t.clients()) {
        for (const protocol of bothProtocols) {
          await t.delivers(client, { ...target(protocol), address: virtual }, pod, { note: `led to ${name}` });
        }
        // Known limit: while the pod's node remembers the way by the other node, the pod sees another port.
        const note = `led to ${name}, the same source port`;
        const result = await t.exchange(client, { ...target('UDP'), address: virtual }, { note, sourcePort: 41_400 });
        t.record.same('assertion', `${client.name}, ${note}: answered from`, virtual, result.from);
        const seen = result.reply?.peer ?? result.outcome;
        t.record.same('assertion', `${client.name}, ${note}: the pod sees`, t.lab.publicAddress(client), seen);
      }
    }
  },
});
