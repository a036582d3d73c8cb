import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, mapEcho, multiClass, secondEdge as second, target } from '../echo-pod.ts';
import { linksOf } from '../links.ts';

export default scenario({
  sentence:
    'Under Multi every accepting node answers for itself: a client gets its answer from the node it dialled, and the pod sees the client, whichever node that was',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t, multiClass);
    await echoDelivers(t, pod);
    const [anyone] = t.clients();
    for (const protocol of bothProtocols) {
      if (anyone !== undefined) await t.awaitDelivery(anyone, { ...target(protocol), address: second.address }, pod);
    }
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) {
        // In turn, so that one node's state would show in the other's answer.
        for (const address of [target(protocol).address, second.address, target(protocol).address]) {
          await t.delivers(client, { ...target(protocol), address }, pod);
        }
      }
    }
    t.record.same('assertion', 'links on worker-b', 2, (await linksOf(t.host('worker-b'))).length);
  },
});
