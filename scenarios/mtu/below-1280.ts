import { agentLog } from '../../lab/agents.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { waitFor } from '../../lab/wait.ts';
import { bulkBothWays } from '../bulk.ts';
import { deliverOverLink } from '../damage.ts';
import { edge } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

/** What netbird gives its interface. */
const underlayMtu = 1280;

export default scenario({
  sentence:
    'A mesh of MTU 1280 makes links of 1230, too small for IPv6: with IPv6 on, the host takes them without an error and IPv4 goes over them as ever',
  timeoutMs: 60_000,
  async run(t) {
    const nodes = [edge.name, 'worker-b'];
    const underlay = t.lab.topology.mesh.interface;
    for (const node of nodes) {
      const host = t.host(node);
      const { stdout } = await host.exec(['cat', `/sys/class/net/${underlay}/mtu`]);
      t.defer(`MTU of ${node}`, () => host.exec(['ip', 'link', 'set', underlay, 'mtu', stdout.trim()]));
      await host.exec(['sysctl', '-qw', 'net.ipv6.conf.all.disable_ipv6=0', 'net.ipv6.conf.default.disable_ipv6=0']);
      await host.exec(['ip', 'link', 'set', underlay, 'mtu', String(underlayMtu)]);
    }
    const { pod, links } = await deliverOverLink(t);
    for (const [node, link] of [
      [edge.name, links.accepting],
      ['worker-b', links.podSide],
    ] as const) {
      const mtu = await waitFor(
        `the link on ${node} to be small`,
        async () => {
          const { stdout } = await t.host(node).exec(['cat', `/sys/class/net/${link}/mtu`]);
          return Number(stdout) === underlayMtu - 50 ? Number(stdout) : undefined;
        },
        { timeoutMs: t.pace.time(3000) },
      );
      t.record.same('assertion', `${node}: MTU of the link`, underlayMtu - 50, mtu);
      const { stdout: ipv6 } = await t.host(node).exec(['sysctl', '-n', `net.ipv6.conf.all.disable_ipv6`]);
      t.record.same('positive control', `${node}: IPv6 is on`, '0', ipv6.trim());
      const log = await t.host(node).readLog(agentLog, 100_000);
      const complaints = log.split('\n').filter((line) => line.includes('"level":50') && line.includes(link));
      t.record.same('assertion', `${node}: errors of the agent about the link`, '', complaints.join('; '));
    }
    await proveDelivery(t, pod, `links of ${underlayMtu - 50}`);
    await bulkBothWays(t, pod, `links of ${underlayMtu - 50}`);
  },
});
