import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { onlyLink } from '../links.ts';
import { proveDelivery } from '../prove-delivery.ts';

/** What others do to a node, and how soon it must deliver again, in milliseconds from the damage. */
const putBackMs = 1000;

export default scenario({
  sentence:
    'What others delete is put back within a second: a flushed ruleset, deleted ip rules and routes, a link set down or deleted',
  timeoutMs: 60_000,
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'before');
    const link = await onlyLink(t.host('worker-b'));
    const remote = await onlyLink(t.host(edge.name));
    const damages: [string, string, string][] = [
      ['nft delete table ip kuport', edge.name, 'nft delete table ip kuport'],
      ['nft flush chain', 'worker-b', 'nft flush chain ip kuport kup-mangle'],
      ['nft delete table ip kuport', 'worker-b', 'nft delete table ip kuport'],
      ['ip rule at 102 deleted', 'worker-b', 'ip rule del pref 102'],
      ['both ip rules deleted, as systemd-networkd does', 'worker-b', 'ip rule del pref 101; ip rule del pref 102'],
      [
        "the link's routing table flushed",
        'worker-b',
        'ip route flush table $(ip rule show pref 102 | sed "s/.*lookup //; s/ .*//")',
      ],
      ['link down', 'worker-b', `ip link set ${link} down`],
      ['link deleted', edge.name, `ip link del ${remote}`],
      ['address of the link removed', 'worker-b', `ip addr flush dev ${link}`],
    ];
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    for (const [title, node, command] of damages) {
      await t.host(node).exec(['sh', '-c', command]);
      const took = await t.awaitDelivery(client, target('UDP'), pod);
      t.record.check(
        'assertion',
        `${node}: ${title}: delivers again`,
        `within ${t.pace.time(putBackMs)} ms`,
        `${took} ms`,
        took <= t.pace.time(putBackMs),
      );
      await proveDelivery(t, pod, `after: ${title}`);
    }
  },
});
