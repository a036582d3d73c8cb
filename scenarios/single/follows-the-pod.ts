import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import type { Pod } from '../../lab/workload/workload.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';

/** One port per client for the whole scenario: what a game client does, and what keeps a conntrack entry alive. */
const steadyPort = 41000;

export default scenario({
  sentence:
    'A mapping follows its pod from node to node, and a client that keeps its source port reaches the new pod at its next packet',
  async run(t) {
    const move = async (node: string, name: string, old: Pod | null): Promise<Pod> => {
      const pod = await t.pod({ node, name, ports: echoPorts });
      if (old !== null) await t.lab.workload.stopPod(old);
      await echoDelivers(t, pod);
      for (const client of t.clients()) {
        await t.delivers(client, target('UDP'), pod, {
          sourcePort: steadyPort,
          note: `same source port, pod on ${node}`,
        });
        for (const protocol of bothProtocols) await t.delivers(client, target(protocol), pod);
      }
      return pod;
    };
    await mapEcho(t);
    const onB = await move('worker-b', 'first', null);
    const onC = await move('worker-c', 'second', onB);
    await move(edge.name, 'third', onC);
  },
});
