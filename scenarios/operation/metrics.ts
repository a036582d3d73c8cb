import { scenario } from '../../lab/scenario/scenario.ts';
import { agentMetric } from '../agent-metrics.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';

const probes = 7;

export default scenario({
  sentence:
    "An agent's metrics count exactly what clients sent, on the accepting node and on the pod's, and go on counting when the agent is another",
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    const label = `portmap="${t.namespace}/echo-udp"`;
    const names = ['kuport_mapping_request_packets_total', 'kuport_mapping_connections_total'];
    const nodes = [edge.name, 'worker-b'];
    const read = (): Promise<number[]> =>
      Promise.all(nodes.flatMap((node) => names.map((name) => agentMetric(t, node, name, label))));
    const before = await read();
    const send = async (): Promise<void> => {
      for (const client of t.clients()) for (let n = 0; n < probes; n++) await t.delivers(client, target('UDP'), pod);
    };
    await send();
    const sent = probes * t.clients().length;
    const grown = (await read()).map((value, index) => value - (before[index] ?? 0));
    nodes
      .flatMap((node) => names.map((name) => `${node}: ${name}`))
      .forEach((title, index) => {
        t.record.same('assertion', title, sent, grown[index] ?? null);
      });
    await t.lab.agents.stop(edge.name, 'SIGKILL');
    await t.lab.agents.restart(edge.name);
    await t.lab.agents.ready(t.pace.time(10_000));
    await send();
    const after = await agentMetric(t, edge.name, names[0] ?? '', label);
    t.record.same(
      'assertion',
      `${edge.name}: packets after a restart go on from before`,
      (before[0] ?? 0) + 2 * sent,
      after,
    );
  },
});
