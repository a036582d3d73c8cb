import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

export default scenario({
  sentence:
    "Sent to a remote pod through the CNI's own tunnel, the client is lost: rewritten, the pod sees the accepting node; kept, the reply leaks out of the pod node's uplink",
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'over the link');
    const accepting = t.host(edge.name);
    const router = t.lab.nodes.get(edge.name)?.routerAddress ?? '';
    const home = t.lab.topology.sites.find((site) => site.name === t.lab.node('worker-b').site)?.router ?? '';
    await t.withoutAgents(async () => {
      const keys = bothProtocols.map((protocol) => `"${edge.interface}" . ${protocol.toLowerCase()} . ${echoPort}`);
      await accepting.exec(['nft', '-f', '-'], {
        input: `delete element ip kuport ports { ${keys.join(', ')} }
add element ip kuport ports { ${keys.map((key) => `${key} : ${pod.record.address} . ${echoPort}`).join(', ')} }
`,
      });
      for (const client of t.clients()) {
        for (const protocol of bothProtocols) {
          const result = await t.exchange(client, target(protocol), { note: "through the CNI's tunnel" });
          t.record.same(
            'assertion',
            `${client.name} ${protocol}: the pod sees the accepting node's cilium_host`,
            router,
            result.reply?.peer ?? result.outcome,
          );
        }
      }
      await accepting.exec(['nft', '-f', '-'], {
        input: `table ip lab-keep {
  chain postrouting {
    type nat hook postrouting priority srcnat - 20; policy accept;
    ip daddr ${pod.record.address} snat ip to ip saddr
  }
}
`,
      });
      t.defer('claim of the source', () => accepting.exec(['nft', 'delete', 'table', 'ip', 'lab-keep']));
      await pod.sightings();
      for (const client of t.clients()) {
        const isPublic = t.lab.publicAddress(client) === client.address;
        const result = await t.exchange(client, target('UDP'), {
          timeoutMs: t.silenceMs,
          note: 'the same, source kept',
        });
        t.record.same(
          'assertion',
          `${client.name} UDP: what comes back, comes from`,
          isPublic ? home : null,
          result.from,
        );
        await t.silent(client, target('TCP'), 'source kept, the reply leaks');
      }
      const seen = new Set((await pod.sightings()).map((sighting) => sighting.peer));
      for (const client of t.clients()) {
        const address = t.lab.publicAddress(client);
        t.record.check(
          'assertion',
          `${client.name}: its datagram did reach the pod under its own address`,
          address,
          [...seen].join(', '),
          seen.has(address),
        );
      }
    });
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'over the link again');
  },
});
