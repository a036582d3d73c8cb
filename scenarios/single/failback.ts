import { scenario } from '../../lab/scenario/scenario.ts';
import { waitFor } from '../../lab/wait.ts';
import { nodeObject } from '../../lab/workload/objects.ts';
import { echoDelivers, echoPorts, edge, edgeClass, mapEcho, secondEdge, target } from '../echo-pod.ts';

const switchMs = 5000;

export default scenario({
  sentence:
    'When the serving node is NotReady the next accepting node serves, and when it returns it serves again: once each way, without flapping',
  timeoutMs: 60_000,
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t, {
      ...edgeClass,
      nodes: { ...edgeClass.nodes, [secondEdge.name]: { interfaces: [secondEdge.interface] } },
    });
    await echoDelivers(t, pod);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    const setReady = (ready: boolean): Promise<unknown> =>
      t.lab.cluster.apply(nodeObject(t.lab.node(edge.name), ready));
    t.defer(`${edge.name} Ready`, () => setReady(true));
    const switches: string[] = [];
    const serves = async (address: string, other: string): Promise<void> => {
      await waitFor(
        `port to answer at ${address}`,
        async () => {
          const { status } = await t.getPortMap('echo-udp');
          const at = status?.addresses ?? '';
          if (at !== '' && at !== switches.at(-1)) switches.push(at);
          return at === address ? true : undefined;
        },
        { timeoutMs: t.pace.time(switchMs) },
      );
      await t.awaitDelivery(client, { ...target('UDP'), address }, pod);
      for (const each of t.clients()) await t.delivers(each, { ...target('UDP'), address }, pod);
      const closed = await t.exchange(
        client,
        { ...target('UDP'), address: other },
        { connected: true, timeoutMs: t.silenceMs },
      );
      t.record.same('negative', `the port is closed at ${other}`, 'refused', closed.outcome);
    };
    await serves(edge.address, secondEdge.address);
    await setReady(false);
    await serves(secondEdge.address, edge.address);
    await setReady(true);
    await serves(edge.address, secondEdge.address);
    for (let n = 0; n < 10; n++) await t.delivers(client, target('UDP'), pod);
    t.record.same(
      'assertion',
      'served at, in turn',
      [edge.address, secondEdge.address, edge.address].join(' '),
      switches.join(' '),
    );
  },
});
