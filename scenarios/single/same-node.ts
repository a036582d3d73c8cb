import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { linksOf } from '../links.ts';

export default scenario({
  sentence: 'A pod on the accepting node gets its port without any link, and no other node takes part',
  async run(t) {
    const pod = await t.pod({ node: edge.name, ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) await t.delivers(client, target(protocol), pod);
    }
    for (const { name } of t.lab.topology.nodes) {
      t.record.same('assertion', `links on ${name}`, '', (await linksOf(t.host(name))).join(' '));
    }
  },
});
