import { kuportApiVersion } from '../../lab/scenario/kuport-objects.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { waitFor } from '../../lab/wait.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { firstDifference, nodeState } from '../node-state.ts';

const leaving = { name: 'edge-d', address: '203.0.113.73', interface: 'enp1s0' };

export default scenario({
  sentence:
    'A node that leaves every class is left as if kuport had never been there, and the nodes that stay go on serving',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    const host = t.host(leaving.name);
    const before = await nodeState(host);
    const both = {
      name: 'public',
      servingMode: 'Multi' as const,
      nodes: {
        [edge.name]: { interfaces: [edge.interface] },
        [leaving.name]: { interfaces: [leaving.interface] },
      },
      returnPath: 'Vxlan' as const,
    };
    await mapEcho(t, both);
    await echoDelivers(t, pod);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    const there = { ...target('UDP'), address: leaving.address };
    await t.awaitDelivery(client, there, pod);
    const held = await nodeState(host);
    t.record.check('assertion', `${leaving.name} accepts`, 'holds something', 'compared', held !== before);
    await t.lab.cluster.apply({
      apiVersion: kuportApiVersion,
      kind: 'PortMapClass',
      metadata: { name: both.name },
      // In a merge, null takes an entry away.
      spec: { nodes: { [leaving.name]: null } },
    });
    await waitFor(
      `${leaving.name} to be as it was`,
      async () => {
        const difference = firstDifference(before, await nodeState(host));
        if (difference !== null) throw new Error(difference);
        return true;
      },
      { timeoutMs: t.pace.time(3000) },
    );
    t.record.same('assertion', `${leaving.name}: left of kuport`, null, firstDifference(before, await nodeState(host)));
    await t.silent(client, there, `${leaving.name} serves no more`);
    for (const each of t.clients()) await t.delivers(each, target('UDP'), pod);
  },
});
