import { condition } from '../../lab/scenario/kuport-objects.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';

/** Where the mesh of the lab listens on every node. */
const meshPort = 51820;

export default scenario({
  sentence:
    "A mapping that asks for the port on which the node's own WireGuard listens is refused by name and role, and the mesh goes on",
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    await t.portMap({
      name: 'greedy',
      className: 'public',
      protocol: 'UDP',
      port: meshPort,
      serviceRef: { name: 'echo', port: 'echo-udp' },
    });
    const refused = await t.conditionOf('greedy', 'Accepted', 'False', 'PortInUse');
    const { message = '' } = condition(refused, 'Accepted') ?? {};
    t.record.check(
      'assertion',
      'the message names port, node and role',
      `port ${meshPort}/UDP on ${edge.name} ... WireGuard`,
      message,
      message.startsWith(`port ${meshPort}/UDP on ${edge.name} is taken by the node itself, WireGuard`),
    );
    const { stdout } = await t.host(edge.name).exec(['nft', 'list', 'table', 'ip', 'kuport']);
    const lines = stdout.split('\n').filter((line) => line.includes(String(meshPort)));
    t.record.same('assertion', `elements for port ${meshPort} on ${edge.name}`, 0, lines.length);
    // The link's outer packets go by way of WireGuard: a delivery is proof that the mesh stands.
    for (const client of t.clients()) await t.delivers(client, target('UDP'), pod);
  },
});
