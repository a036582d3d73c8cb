import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho, multiClass, secondEdge, target } from '../echo-pod.ts';
import { UdpFlow } from '../udp-flow.ts';

const sourcePort = 41_300;

export default scenario({
  sentence:
    'One client port used to two accepting nodes at once: both answer, each for itself, but to the pod the two would be one flow, so it sees one of them under another port of the same client',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t, multiClass);
    await echoDelivers(t, pod);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    await t.awaitDelivery(client, { ...target('UDP'), address: secondEdge.address }, pod);
    const first = await UdpFlow.open(t, client, { address: edge.address, port: echoPort }, sourcePort);
    const second = first.to({ address: secondEdge.address, port: echoPort });
    for (let round = 1; round <= 3; round++) {
      for (const flow of [first, second]) {
        const heard = await flow.ask();
        t.record.same(
          'assertion',
          `round ${round}: ${flow.title}: answered from`,
          `${flow.address}:${echoPort}`,
          heard?.from ?? 'nothing',
        );
        t.record.same(
          'assertion',
          `round ${round}: ${flow.title}: the pod sees the client's address`,
          t.lab.publicAddress(client),
          heard?.reply.peer ?? 'nothing',
        );
      }
    }
    const [one, other] = [first.seenAs, second.seenAs];
    t.record.same('assertion', 'the first keeps its port', `${client.address}:${sourcePort}`, one);
    t.record.check('assertion', 'the second has another', `not ${one}`, other, other !== null && other !== one);
    // Each can be spoken to on its own.
    const [udp] = echoPorts;
    if (udp === undefined) throw new Error('no UDP port');
    for (const flow of [first, second]) {
      const heard = await flow.push(pod, udp);
      t.record.same(
        'assertion',
        `${flow.title}: a push arrives from`,
        `${flow.address}:${echoPort}`,
        heard?.from ?? 'nothing',
      );
    }
  },
});
