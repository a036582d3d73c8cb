import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho } from '../echo-pod.ts';
import { nodeHidesClients } from '../without-exemption.ts';

/** From another pool than the nodes' ranges, as multi-pool address management gives out. */
const addresses = { [edge.name]: '10.245.17.10', 'worker-b': '10.245.18.10' };

export default scenario({
  sentence:
    "Cilium's own rule rewrites the client on the way to a pod outside its node's range; kuport claims the flow first, and without that the pod sees the node",
  timeoutMs: 40_000,
  async run(t) {
    await mapEcho(t);
    for (const [node, address] of Object.entries(addresses)) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts, address });
      await echoDelivers(t, pod);
      await nodeHidesClients(t, pod);
      await t.lab.workload.stopPod(pod);
    }
  },
});
