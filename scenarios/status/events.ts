import { scenario } from '../../lab/scenario/scenario.ts';
import { waitFor } from '../../lab/wait.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';

interface EventObject {
  type: string;
  reason: string;
  note: string;
  eventTime: string;
  regarding: { kind: string; name: string };
}

export default scenario({
  sentence:
    'A mapping that loses its pod says so in one event with the reason, and in another when it is served again, however many agents watch',
  async run(t) {
    const said = async (): Promise<EventObject[]> => {
      const { items } = await t.lab.cluster.list<EventObject>('events.k8s.io/v1', 'Event', { namespace: t.namespace });
      const own = items.filter((each) => each.regarding.kind === 'PortMap' && each.regarding.name === 'echo-udp');
      return own.sort((a, b) => (a.eventTime < b.eventTime ? -1 : 1));
    };
    /** Waits for an event and returns what has been said since a time. */
    const after = (time: string, reason: string): Promise<EventObject[]> =>
      waitFor(
        `an event ${reason}`,
        async () => {
          const events = (await said()).filter((each) => each.eventTime > time);
          if (events.some((each) => each.reason === reason)) return events;
          throw new Error(`there are ${events.map((each) => each.reason).join(', ') || 'none'}`);
        },
        { timeoutMs: t.pace.time(5000) },
      );
    const text = ({ type, reason, note }: EventObject): string => `${type} ${reason}: ${note}`;
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    await t.lab.workload.setReady(pod, false);
    const [lost] = (await after('', 'NoReadyEndpoint')).filter((each) => each.reason === 'NoReadyEndpoint');
    if (lost === undefined) throw new Error('no event');
    t.record.same(
      'assertion',
      'the event of the lost pod',
      `Warning NoReadyEndpoint: Service ${t.namespace}/echo has no ready endpoint with a UDP port named "echo-udp" (0 of 1): see why its pods are not ready`,
      text(lost),
    );
    await t.conditionOf('echo-udp', 'Programmed', 'False', 'NoReadyEndpoint');
    await t.lab.workload.setReady(pod, true);
    await echoDelivers(t, pod);
    const back = await after(lost.eventTime, 'Programmed');
    const expected = `Normal Programmed: Answers on ${edge.address}`;
    t.record.same('assertion', 'all that is said when it is back', expected, back.map(text).join('; '));
    // Passes that change nothing say nothing: another object makes every agent plan anew.
    await t.service('unrelated', echoPorts);
    await echoDelivers(t, pod);
    await t.delivers(client, target('UDP'), pod);
    const since = (await said()).filter((each) => each.eventTime > lost.eventTime);
    t.record.same('assertion', 'events since, after more passes', 1, since.length);
  },
});
