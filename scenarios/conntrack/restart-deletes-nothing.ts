import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { agentMetric } from '../agent-metrics.ts';
import { deliverOverLink } from '../damage.ts';
import { edge, target } from '../echo-pod.ts';

const nodes = [edge.name, 'worker-b'];

export default scenario({
  sentence:
    'An agent that restarts and finds everything in place deletes not one conntrack entry: live flows keep theirs',
  async run(t) {
    await deliverOverLink(t);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    const { station } = t.host(client.name);
    const flows = await Promise.all(
      bothProtocols.map((protocol) => station.request('flowStart', { ...target(protocol), perSecond: 20 })),
    );
    /** Entries of the flows by the kernel's own number, which a new entry of the same flow would not have. */
    const entries = async (node: string): Promise<string> => {
      const ports = flows.map(({ sourcePort }) => sourcePort).join('|');
      const { stdout } = await t
        .host(node)
        .exec(['sh', '-c', `conntrack -L -o id 2>/dev/null | grep -E 'sport=(${ports}) ' | sed 's/.* id=//' | sort`]);
      return stdout.trim().split('\n').join(' ');
    };
    const before = await Promise.all(nodes.map(entries));
    nodes.forEach((node, index) => {
      const count = before[index]?.split(' ').length ?? 0;
      t.record.check('positive control', `${node}: entries of the flows`, 'at least 2', count, count >= 2);
    });
    for (const node of nodes) {
      await t.lab.agents.stop(node, 'SIGKILL');
      await t.lab.agents.restart(node);
    }
    await t.lab.agents.ready(t.pace.time(10_000));
    const after = await Promise.all(nodes.map(entries));
    for (const [index, node] of nodes.entries()) {
      t.record.same('assertion', `${node}: entries of the flows`, before[index] ?? '', after[index] ?? '');
      const applied = await agentMetric(t, node, 'kuport_apply_duration_seconds_count');
      const deleted = await agentMetric(t, node, 'kuport_conntrack_deletions_total');
      t.record.same('assertion', `${node}: entries deleted by the new agent`, 0, deleted);
      t.record.same('assertion', `${node}: changes made by the new agent`, 0, applied);
    }
    for (const { flow } of flows) {
      const report = await station.request('flowStop', { flow });
      t.record.same('assertion', 'requests lost', 0, report.lost);
    }
  },
});
