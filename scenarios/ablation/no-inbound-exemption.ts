import { masqueradeIntoPodNetworkRule } from '../../lab/cni/cilium-iptables.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho } from '../echo-pod.ts';
import { nodeHidesClients } from '../without-exemption.ts';

export default scenario({
  sentence:
    "Where the CNI masquerades everything that enters the pod network, the pod sees its node's address unless kuport claims the flow first",
  timeoutMs: 40_000,
  async run(t) {
    for (const node of [edge.name, 'worker-b']) {
      const cni = t.lab.nodes.get(node);
      if (cni === undefined) throw new Error(`no node ${node}`);
      const [chain = '', ...match] = masqueradeIntoPodNetworkRule(cni);
      const host = t.host(node);
      await host.exec(['iptables', '-t', 'nat', '-I', chain, '1', ...match]);
      t.defer(`masquerade on ${node}`, () => host.exec(['iptables', '-t', 'nat', '-D', chain, ...match]));
    }
    await mapEcho(t);
    for (const node of [edge.name, 'worker-b']) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts });
      await echoDelivers(t, pod);
      await nodeHidesClients(t, pod);
      await t.lab.workload.stopPod(pod);
    }
  },
});
