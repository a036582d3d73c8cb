import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

/** Counts what WireGuard hands over on the pod's node, before anything else can have touched it. */
function countingTable(clients: readonly string[]): string {
  return `table ip lab-count {
  chain prerouting {
    type filter hook prerouting priority -350; policy accept;
    iifname "wt0" ip saddr { ${clients.join(', ')} } counter comment "client packets out of the mesh"
    iifname "wt0" counter comment "all packets out of the mesh"
  }
}
`;
}

export default scenario({
  sentence:
    "Without a link, a packet sent on to the pod node's mesh address with the client as its source is discarded inside WireGuard: the pod node counts none",
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'before');
    const accepting = t.host(edge.name);
    const worker = t.host('worker-b');
    const { meshAddress } = t.lab.node('worker-b');
    await worker.exec(['nft', '-f', '-'], {
      input: countingTable(t.clients().map((client) => t.lab.publicAddress(client))),
    });
    t.defer('counting table', () => worker.exec(['nft', 'delete', 'table', 'ip', 'lab-count']));
    await t.withoutAgents(async () => {
      const elements = bothProtocols.map((protocol) => `"${edge.interface}" . ${protocol.toLowerCase()} . ${echoPort}`);
      await accepting.exec(['nft', '-f', '-'], {
        input: `delete element ip kuport ports { ${elements.join(', ')} }
add element ip kuport ports { ${elements.map((element) => `${element} : ${meshAddress} . ${echoPort}`).join(', ')} }
`,
      });
      const moved = await t.moved("DNAT to the pod node's mesh address", [edge.name, 'worker-b'], async () => {
        for (const client of t.clients()) {
          for (const protocol of bothProtocols) await t.silent(client, target(protocol), 'no link, no answer');
        }
        // The instrument works: what the mesh does carry is counted.
        await accepting.exec(['ping', '-c', '1', '-W', '1', meshAddress]);
      });
      t.record.same(
        'negative',
        'client packets that left WireGuard on worker-b',
        0,
        moved.packets('worker-b', 'client packets out of the mesh'),
      );
      const all = moved.packets('worker-b', 'all packets out of the mesh');
      t.record.check(
        'positive control',
        'packets of the mesh itself are counted on worker-b',
        'at least 1',
        all,
        all > 0,
      );
    });
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'restored');
  },
});
