import { scenario } from '../../lab/scenario/scenario.ts';
import { waitFor } from '../../lab/wait.ts';
import { findingsOn } from '../agent-command.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';

interface ClassObject {
  status?: { nodes?: { name: string; ready: boolean; message: string }[] };
}

export default scenario({
  sentence:
    "kuport-agent check passes on a node that serves, names what is wrong with the exit code of an unfit node, and an agent says the same in its node's row",
  async run(t) {
    const host = t.host(edge.name);
    const rule = ['pref', '40', 'from', '10.244.0.0/16', 'lookup', 'main'];
    const expectFindings = async (state: string, code: string, findings: string[]): Promise<void> => {
      const found = await findingsOn(t, edge.name);
      const names = found.findings.map((each) => `${each.check} ${each.status}`);
      t.record.same('assertion', `${state}: findings`, findings.join(', '), names.join(', '));
      t.record.same('assertion', `${state}: exit code`, code, found.code);
    };
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    await t.control(client, target('UDP'), pod, 'before');
    await expectFindings('a node that serves', '0', []);
    await host.exec(['ip', 'rule', 'add', ...rule]);
    t.defer('ip rule', () => host.exec(['sh', '-c', `ip rule del ${rule.join(' ')} 2>/dev/null; true`]));
    await expectFindings("another's ip rule before kuport's", '0', ['host/ip-rules warning']);
    await host.exec(['sysctl', '-qw', 'net.ipv4.ip_forward=0']);
    t.defer('forwarding', () => host.exec(['sysctl', '-qw', 'net.ipv4.ip_forward=1']));
    await expectFindings('and no forwarding', '3', ['host/ip-forward failed', 'host/ip-rules warning']);
    await t.silent(client, target('UDP'), 'the check is right: nothing is forwarded');
    await t.lab.agents.stop(edge.name, 'SIGTERM');
    await t.lab.agents.restart(edge.name);
    await t.lab.agents.ready(t.pace.time(10_000));
    const row = await waitFor(
      `the row of ${edge.name} to say so`,
      async () => {
        const { status } = await t.lab.cluster.get<ClassObject>('kuport.wlz.li/v1alpha1', 'PortMapClass', 'public');
        const own = status?.nodes?.find((each) => each.name === edge.name);
        if (own?.ready === false) return own;
        throw new Error(`it says ${JSON.stringify(own)}`);
      },
      { timeoutMs: t.pace.time(5000) },
    );
    for (const text of [
      'net.ipv4.ip_forward is 0',
      'sysctl -w net.ipv4.ip_forward=1',
      'ip rule 40: from 10.244.0.0/16',
    ])
      t.record.check('assertion', 'the row says', text, row.message, row.message.includes(text));
    await host.exec(['sysctl', '-qw', 'net.ipv4.ip_forward=1']);
    await host.exec(['ip', 'rule', 'del', ...rule]);
    t.defer('findings', async () => {
      await t.lab.agents.stop(edge.name, 'SIGTERM');
      await t.lab.agents.restart(edge.name);
      await t.lab.agents.ready(t.pace.time(10_000));
    });
    await expectFindings('mended', '0', []);
    await t.delivers(client, target('UDP'), pod);
  },
});
