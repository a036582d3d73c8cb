import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, mapEcho, target } from '../echo-pod.ts';

export default scenario({
  sentence: 'A pod behind a home router sees the real client, and the answer comes from the address the client dialled',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) await t.delivers(client, target(protocol), pod);
    }
  },
});
