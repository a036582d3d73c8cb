import { neighbourNames } from '../../lab/neighbours/registry.ts';
import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

export default scenario({
  sentence:
    "A mapping leans on no neighbour's rules: without kube-proxy's tables or without netbird's it delivers as with them",
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'with all neighbours');
    for (const name of neighbourNames) {
      await t.withoutNeighbour(name, async () => {
        for (const client of t.clients()) {
          for (const protocol of bothProtocols)
            await t.delivers(client, target(protocol), pod, { note: `without ${name}` });
        }
      });
    }
    await proveDelivery(t, pod, 'with all neighbours again');
  },
});
