import { scenario } from '../../lab/scenario/scenario.ts';
import { waitFor } from '../../lab/wait.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';

const node = 'worker-b';

interface EventObject {
  type: string;
  reason: string;
  note: string;
  reportingInstance: string;
  metadata: { name: string };
  regarding: { kind: string; name: string; uid?: string };
}

export default scenario({
  sentence:
    "What somebody undoes on a node is told in an event on the Node that names what was put back; kuport's own changes are not told",
  async run(t) {
    const { pod } = await deliverOverLink(t);
    // What it has said of other damage counts against what it may say in a minute.
    await t.lab.agents.stop(node, 'SIGTERM');
    await t.lab.agents.restart(node);
    await t.lab.agents.ready(t.pace.time(10_000));
    const { metadata } = await t.lab.cluster.get<{ metadata: { uid: string } }>('v1', 'Node', node);
    const all = async (): Promise<EventObject[]> => {
      const { items } = await t.lab.cluster.list<EventObject>('events.k8s.io/v1', 'Event', { namespace: 'default' });
      return items.filter(({ regarding, reason }) => regarding.name === node && reason === 'DriftRepaired');
    };
    const before = new Set((await all()).map((each) => each.metadata.name));
    const told = async (): Promise<EventObject[]> => (await all()).filter((each) => !before.has(each.metadata.name));
    const damages = [
      ['ip rule del pref 101', 'ip rule add pref 101 '],
      ['nft delete table ip kuport', 'table ip kuport'],
    ] as const;
    for (const [command, putBack] of damages) {
      await isPutBack(t, pod, node, command);
      const event = await waitFor(
        `an event on Node ${node} that names "${putBack}"`,
        async () => {
          const events = await told();
          const found = events.find(({ note }) => note.includes(putBack));
          if (found !== undefined) return found;
          throw new Error(`there are ${JSON.stringify(events.map(({ note }) => note))}`);
        },
        { timeoutMs: t.pace.time(5000) },
      );
      t.record.same(
        'assertion',
        `the event of \`${command}\``,
        `Warning on Node ${metadata.uid}, from ${node}`,
        `${event.type} on ${event.regarding.kind} ${event.regarding.uid}, from ${event.reportingInstance}`,
      );
    }
    await t.portMap({
      name: 'own-change',
      className: 'public',
      protocol: 'UDP',
      port: 3100,
      serviceRef: { name: 'echo', port: 'echo-udp' },
    });
    await t.programmed('own-change', pod);
    t.record.same(
      'assertion',
      'events in all, after a change of the agent itself',
      damages.length,
      (await told()).length,
    );
  },
});
