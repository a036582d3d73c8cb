import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

/** Of the way into the pod, in bytes; smaller than any link. */
const narrowMtu = 1100;
const payload = 1250;

export default scenario({
  sentence:
    "Where the way into a pod is narrower than the client knows, the pod node's fragmentation-needed reaches the client's own flow, on the same node and across nodes",
  async run(t) {
    await mapEcho(t);
    for (const node of [edge.name, 'worker-b']) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts });
      await echoDelivers(t, pod);
      await proveDelivery(t, pod, `pod on ${node}`);
      const host = t.host(node);
      const { stdout } = await host.exec(['cat', '/sys/class/net/cilium_host/mtu']);
      const set = (mtu: string): Promise<unknown> => host.exec(['ip', 'link', 'set', 'cilium_host', 'mtu', mtu]);
      t.defer(`MTU of cilium_host on ${node}`, () => set(stdout.trim()));
      await set(String(narrowMtu));
      for (const client of t.clients()) {
        const own = t.host(client.name);
        t.defer(`routes of ${client.name}`, () => own.exec(['ip', 'route', 'flush', 'cache']));
        const known = async (): Promise<string> =>
          /\bmtu (\d+)/.exec((await own.exec(['ip', 'route', 'get', edge.address])).stdout)?.[1] ?? 'none';
        await own.exec(['ip', 'route', 'flush', 'cache']);
        t.record.same('positive control', `${client.name}: path MTU before`, 'none', await known());
        // It carries DF, is too big, and is lost: what it brings back is the size that fits.
        await t.exchange(client, target('UDP'), { size: payload, timeoutMs: t.silenceMs, note: 'too big for the pod' });
        t.record.same(
          'assertion',
          `${client.name}: path MTU it was told, pod on ${node}`,
          String(narrowMtu),
          await known(),
        );
        await t.delivers(client, target('UDP'), pod, { size: payload, note: 'the same, in fragments that fit' });
      }
      await set(stdout.trim());
      for (const client of t.clients()) await t.host(client.name).exec(['ip', 'route', 'flush', 'cache']);
      await t.lab.workload.stopPod(pod);
    }
  },
});
