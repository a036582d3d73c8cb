import { scenario } from '../../lab/scenario/scenario.ts';
import { waitFor } from '../../lab/wait.ts';
import { echoDelivers, echoPorts, edge, mapEcho } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

const masterPort = 27_900;

export default scenario({
  sentence:
    "What a pod sends of its own accord from its listening port, as a game server's heartbeat, leaves as its node's other traffic does, and the answer reaches it",
  async run(t) {
    await mapEcho(t);
    const [client] = t.clients();
    const [udp] = echoPorts;
    if (client === undefined || udp === undefined) throw new Error('no client or no port');
    const master = t.host(client.name).station;
    const { server } = await master.request('echoStart', {
      ...{ protocol: 'UDP', port: masterPort, pod: 'master', node: client.name, silent: true },
    });
    t.defer('master', () => master.request('echoStop', { server }));
    const home = t.lab.topology.sites.find((site) => site.name === t.lab.node('worker-b').site)?.router ?? '';
    for (const { node, seen } of [
      { node: edge.name, seen: edge.address },
      { node: 'worker-b', seen: home },
    ]) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts });
      await echoDelivers(t, pod);
      for (const round of ['before any client', 'beside clients']) {
        const id = `heartbeat ${node} ${round}`;
        await pod.sightings();
        await pod.host.station.request('echoPush', {
          ...{ server: pod.serverOn(udp), peer: client.address, peerPort: masterPort, port: udp.port, id },
        });
        const heartbeat = await waitFor(
          `the master to hear of the pod on ${node}`,
          async () => (await master.request('echoSightings', { server })).sightings.find((each) => each.id === id),
          { timeoutMs: t.pace.packets(2000) },
        );
        t.record.same('assertion', `${id}: the master sees`, seen, heartbeat.peer);
        await master.request('echoPush', {
          ...{ server, peer: heartbeat.peer, peerPort: heartbeat.peerPort, port: masterPort, id: `answer to ${id}` },
        });
        const answer = await waitFor(
          `the pod on ${node} to hear the master`,
          async () => (await pod.sightings()).find((each) => each.id === `answer to ${id}`),
          { timeoutMs: t.pace.packets(2000) },
        );
        t.record.same(
          'assertion',
          `${id}: the answer comes from`,
          `${client.address}:${masterPort}`,
          `${answer.peer}:${answer.peerPort}`,
        );
        await proveDelivery(t, pod, `pod on ${node}, ${round}`);
      }
      await t.lab.workload.stopPod(pod);
    }
  },
});
