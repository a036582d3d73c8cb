import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { agentCommand, type CommandResult } from '../agent-command.ts';
import { echoDelivers, echoPorts, edge, edgeClass, mapEcho, target } from '../echo-pod.ts';
import { firstDifference, markedFlows, nodeState } from '../node-state.ts';

export default scenario({
  sentence:
    'kuport-agent cleanup leaves a node as it was before its first mapping, and its dry run says what would go and touches nothing',
  async run(t) {
    const nodes = [edge.name, 'worker-b'];
    const states = (): Promise<string[]> => Promise.all(nodes.map((name) => nodeState(t.host(name))));
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    const before = await states();
    await mapEcho(t, edgeClass);
    await echoDelivers(t, pod);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    for (const protocol of bothProtocols) await t.control(client, target(protocol), pod, 'while kuport is there');
    for (const node of nodes) await t.lab.agents.stop(node, 'SIGKILL');
    t.defer('agents', async () => {
      for (const node of nodes) await t.lab.agents.restart(node);
      await t.lab.agents.ready(t.pace.time(10_000));
    });
    const held = await states();
    const onEach = (words: readonly string[]): Promise<CommandResult[]> =>
      Promise.all(nodes.map((node) => agentCommand(t, node, words)));
    const same = (title: string, expected: readonly string[], found: readonly string[]): void =>
      nodes.forEach((node, index) => {
        const difference = firstDifference(expected[index] ?? '', found[index] ?? '');
        t.record.same('assertion', `${node}: ${title}`, null, difference);
      });
    const dry = await onEach(['cleanup', '--dry-run']);
    same('changed by the dry run', held, await states());
    await t.control(client, target('UDP'), pod, 'after the dry runs, without agents');
    const podNode = t.host('worker-b');
    const flows = await markedFlows(podNode);
    const done = await onEach(['cleanup']);
    same('left by cleanup', before, await states());
    t.record.check('positive control', 'worker-b: flows of kuport before cleanup', 'at least 2', flows, flows >= 2);
    t.record.same('assertion', 'worker-b: flows of kuport after cleanup', 0, await markedFlows(podNode));
    const again = await onEach(['cleanup']);
    nodes.forEach((node, index) => {
      const [said = '', removed = ''] = [dry[index]?.stdout, done[index]?.stdout];
      for (const part of ['delete table ip kuport', 'ip link del kup-'])
        t.record.check('assertion', `${node}: the dry run names`, part, said, said.includes(part));
      t.record.check('assertion', `${node}: cleanup removes`, said, removed, removed.startsWith(said));
      t.record.same('assertion', `${node}: exit code of cleanup`, '0', done[index]?.code ?? null);
      const nothing = 'nothing of kuport is on this node\n';
      t.record.same('assertion', `${node}: a second cleanup`, nothing, again[index]?.stdout ?? null);
    });
    await t.silent(client, target('UDP'), 'nothing of kuport is there any more');
  },
});
