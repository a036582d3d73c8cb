import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink } from '../damage.ts';
import { echoDelivers, edge, target } from '../echo-pod.ts';

const nodes = [edge.name, 'worker-b'];

export default scenario({
  sentence:
    'On hosts that filter by reverse path strictly, as RHEL and kind images do for every new device, mappings work, and no device but the links was touched',
  async run(t) {
    const filters = async (node: string): Promise<string> =>
      (await t.host(node).exec(['sh', '-c', 'cd /proc/sys/net/ipv4/conf; grep . */rp_filter | grep -vE "^(kup-|lxc)"']))
        .stdout;
    for (const node of nodes) {
      const host = t.host(node);
      const devices = ['default', t.lab.node(node).interface, t.lab.topology.mesh.interface];
      for (const device of devices) {
        const key = `net.ipv4.conf.${device}.rp_filter`;
        const { stdout } = await host.exec(['sysctl', '-n', key]);
        t.defer(`${key} on ${node}`, () => host.exec(['sysctl', '-qw', `${key}=${stdout.trim()}`]));
        await host.exec(['sysctl', '-qw', `${key}=1`]);
      }
    }
    const before = await Promise.all(nodes.map(filters));
    const { pod, links } = await deliverOverLink(t);
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) await t.delivers(client, target(protocol), pod);
    }
    const after = await Promise.all(nodes.map(filters));
    nodes.forEach((node, index) => {
      t.record.check(
        'assertion',
        `${node}: filters of other devices`,
        before[index],
        after[index],
        before[index] === after[index],
      );
    });
    await t.withoutAgents(async () => {
      await t.host('worker-b').exec(['sysctl', '-qw', `net.ipv4.conf.${links.podSide}.rp_filter=1`]);
      for (const client of t.clients()) await t.silent(client, target('UDP'), 'the link filters strictly');
    });
    await t.lab.agents.stop('worker-b', 'SIGTERM');
    await t.lab.agents.restart('worker-b');
    await t.lab.agents.ready(t.pace.time(10_000));
    await echoDelivers(t, pod);
  },
});
