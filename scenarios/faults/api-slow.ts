import { scenario } from '../../lab/scenario/scenario.ts';
import { AgentRequests, lists, watchedKinds } from '../api-requests.ts';
import { endWatches, involved, involvedUsers, mapAlso, reached, steadyDelivery } from '../api-trouble.ts';
import { echoPort } from '../echo-pod.ts';

const delayMs = 3000;

export default scenario({
  sentence:
    'An API server that answers everything three seconds late makes changes three seconds late and nothing else: no request is sent twice',
  timeoutMs: 60_000,
  async run(t) {
    const { pod, undisturbed } = await steadyDelivery(t);
    const counts = await Promise.all(involved.map((node) => AgentRequests.from(t, node)));
    const faults = await Promise.all(
      involvedUsers.map((user) => t.apiFault({ effect: 'Delay', milliseconds: delayMs, user })),
    );
    await endWatches(t);
    await mapAlso(t, 'slow', echoPort + 1);
    const took = await reached(t, echoPort + 1, pod, delayMs + 2000);
    t.record.check(
      'positive control',
      'the change came as late as the watch',
      `at least ${delayMs - 500} ms`,
      took,
      took >= delayMs - 500,
    );
    // The write of the status takes another delay.
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await t.conditionOf('slow', 'Programmed', 'True');
    for (const [index, node] of involved.entries()) {
      const requests = (await counts[index]?.list()) ?? [];
      const watches = requests.filter(({ isWatch }) => isWatch);
      const writes = requests.filter(({ method }) => method !== 'GET');
      t.record.same('assertion', `${node}: watches`, watchedKinds, watches.length);
      t.record.same('assertion', `${node}: lists`, 0, lists(requests).length);
      t.record.check('assertion', `${node}: writes`, 'at most 4', writes.length, writes.length <= 4);
      await faults[index]?.lift();
    }
    await mapAlso(t, 'fast', echoPort + 2);
    await reached(t, echoPort + 2, pod, 1000);
    await undisturbed();
  },
});
