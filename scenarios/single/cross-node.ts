import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, mapEcho, target } from '../echo-pod.ts';
import { onlyLink } from '../links.ts';

export default scenario({
  sentence: 'A pod behind a home router sees the real client, and the answer comes from the address the client dialled',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    const worker = t.host('worker-b');
    const link = await onlyLink(worker);
    await worker.exec(['nft', '-f', '-'], { input: countingTable(link, pod.record.address) });
    t.defer('counting table', () => worker.exec(['nft', 'delete', 'table', 'ip', 'lab-count']));
    const moved = await t.moved('exchanges of both clients', ['worker-b'], async () => {
      for (const client of t.clients()) {
        for (const protocol of bothProtocols) {
          await t.delivers(client, target(protocol), pod);
          await t.delivers(client, target(protocol), pod, {
            size: 4000,
            replySize: 4000,
            note: '4000 bytes both ways',
          });
        }
      }
    });
    for (const subject of ['request to the link end', 'reply from the link end']) {
      const packets = moved.packets('worker-b', subject);
      t.record.check('assertion', `packets on the link: ${subject}`, 'some', packets, packets > 0);
    }
    const bare = moved.packets('worker-b', 'with the address of the pod');
    t.record.same('assertion', "packets on the link with the pod's own address", 0, bare);
  },
});

/**
 * Counts on the link, after everything has been translated: the pod's node has reversed its own translation before a
 * reply enters the link, so it carries that node's end of the /31 and not the pod's address.
 */
function countingTable(link: string, pod: string): string {
  return `table ip lab-count {
  chain prerouting {
    type filter hook prerouting priority -350; policy accept;
    iifname "${link}" ip daddr 169.254.77.1 counter comment "request to the link end"
    iifname "${link}" ip daddr ${pod} counter comment "request with the address of the pod"
  }
  chain postrouting {
    type filter hook postrouting priority 400; policy accept;
    oifname "${link}" ip saddr 169.254.77.1 counter comment "reply from the link end"
    oifname "${link}" ip saddr ${pod} counter comment "reply with the address of the pod"
  }
}
`;
}
