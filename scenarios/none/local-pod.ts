import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, edgeClass, mapEcho, target } from '../echo-pod.ts';

export default scenario({
  sentence: 'Without return path, a pod on the accepting node is served as ever',
  async run(t) {
    const pod = await t.pod({ node: edge.name, ports: echoPorts });
    await mapEcho(t, { ...edgeClass, returnPath: 'None' });
    await echoDelivers(t, pod);
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) await t.delivers(client, target(protocol), pod);
    }
  },
});
