import { scenario } from '../../lab/scenario/scenario.ts';
import { bulkBothWays } from '../bulk.ts';
import { deliverOverLink } from '../damage.ts';
import { edge } from '../echo-pod.ts';

/** Nobody tells a sender that its packets are too big, as many a firewall has it. */
const blackHole = `table ip lab-black-hole {
  chain input {
    type filter hook input priority filter; policy accept;
    icmp type destination-unreachable icmp code frag-needed counter drop
  }
}
`;

export default scenario({
  sentence:
    'Bulk TCP over a link never stalls, not even where no ICMP tells the ends of its smaller MTU: the segments are made to fit when the connection is opened',
  timeoutMs: 60_000,
  async run(t) {
    const { pod, links } = await deliverOverLink(t);
    await bulkBothWays(t, pod, 'path MTU discovery at work');
    const ends = [...t.clients().map((client) => t.host(client.name)), pod.host];
    for (const host of ends) {
      await host.exec(['nft', '-f', '-'], { input: blackHole });
      t.defer(`black hole of ${host.name}`, () => host.exec(['nft', 'delete', 'table', 'ip', 'lab-black-hole']));
      await host.exec(['ip', 'route', 'flush', 'cache']);
    }
    await bulkBothWays(t, pod, 'no ICMP arrives');
    for (const [node, link] of [
      [edge.name, links.accepting],
      ['worker-b', links.podSide],
    ] as const) {
      const { stdout } = await t.host(node).exec(['nft', 'list', 'chain', 'ip', 'kuport', 'kup-late']);
      const packets = Number(/maxseg size set rt mtu counter packets (\d+)/.exec(stdout)?.[1] ?? 0);
      t.record.check('assertion', `${node}: segments made to fit ${link}`, 'at least 2', packets, packets >= 2);
    }
  },
});
