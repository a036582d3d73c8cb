import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho } from '../echo-pod.ts';
import { reaches } from '../other-ways.ts';
import { proveDelivery } from '../prove-delivery.ts';

export default scenario({
  sentence:
    "Pods that dial a mapping's pod by its own address and port reach it as ever, from its own node, the accepting one and a third, while the mapping serves others",
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    for (const node of ['worker-b', edge.name, 'worker-c']) {
      const other = await t.pod({
        node,
        app: `client-on-${node}`,
        ports: [{ name: 'none', protocol: 'UDP', port: 9 }],
      });
      for (const protocol of bothProtocols) {
        const { address } = other.record;
        const to = { protocol, address: pod.record.address, port: echoPort };
        await reaches(t, { host: other.host, address, seen: address }, to, pod, `pod on ${node}`);
      }
    }
    await proveDelivery(t, pod, 'and the mapping');
  },
});
