import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';

export default scenario({
  sentence:
    'Where the CNI routes each pod to its own device instead of cilium_host, mappings work as ever, on the same node and across nodes',
  async run(t) {
    await mapEcho(t);
    for (const node of [edge.name, 'worker-b']) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts, cni: { endpointRoutes: true } });
      await echoDelivers(t, pod);
      const { stdout } = await t.host(node).exec(['ip', 'route', 'get', pod.record.address]);
      t.record.check(
        'positive control',
        `${node} routes to the pod's own device`,
        'dev lxc',
        stdout.split('\n')[0] ?? '',
        stdout.includes('dev lxc'),
      );
      for (const client of t.clients()) {
        for (const protocol of bothProtocols) await t.delivers(client, target(protocol), pod);
      }
      await t.lab.workload.stopPod(pod);
    }
  },
});
