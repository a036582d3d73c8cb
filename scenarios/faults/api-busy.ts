import { setTimeout as sleep } from 'node:timers/promises';
import { scenario } from '../../lab/scenario/scenario.ts';
import { AgentRequests, shortestGap, watchedKinds } from '../api-requests.ts';
import { endWatches, involved, involvedUsers, mapAlso, reached, steadyDelivery } from '../api-trouble.ts';
import { echoPort } from '../echo-pod.ts';

/** What the server asks to wait, in seconds. */
const retryAfter = 3;
const troubleMs = 10_000;
/** Clocks of the log are in milliseconds. */
const tolerance = 20;

export default scenario({
  sentence:
    'Agents that are answered 429 with Retry-After ask again no sooner, neither for lists and watches nor to write a status; what they have learnt is programmed meanwhile, and the rest as soon as they may ask',
  timeoutMs: 60_000,
  async run(t) {
    const { pod, undisturbed } = await steadyDelivery(t);
    const trouble = async (what: { method: string; path?: string }, work: () => Promise<void>): Promise<void> => {
      const counts = await Promise.all(involved.map((node) => AgentRequests.from(t, node)));
      const faults = await Promise.all(
        involvedUsers.map((user) =>
          t.apiFault({ ...what, user, effect: 'TooManyRequests', retryAfterSeconds: retryAfter }),
        ),
      );
      await work();
      await sleep(troubleMs);
      const hits = await Promise.all(faults.map((fault) => fault.hits()));
      const total = hits.reduce((sum, each) => sum + each, 0);
      t.record.check('positive control', `${what.method} answered 429`, 'at least once', total, total > 0);
      for (const [index, node] of involved.entries()) {
        const refused = ((await counts[index]?.list()) ?? []).filter(({ status }) => status === 429);
        const gap = shortestGap(refused);
        if (gap !== null)
          t.record.check(
            'assertion',
            `${node}: shortest wait between two ${what.method} for the same`,
            `at least ${retryAfter * 1000} ms`,
            `${Math.round(gap)} ms`,
            gap >= retryAfter * 1000 - tolerance,
          );
        const bound = watchedKinds * (1 + Math.ceil(troubleMs / (retryAfter * 1000)));
        t.record.check(
          'assertion',
          `${node}: ${what.method} refused in ${troubleMs / 1000} s`,
          `at most ${bound}`,
          refused.length,
          refused.length <= bound,
        );
      }
      await Promise.all(faults.map((fault) => fault.lift()));
    };
    await trouble({ method: 'PUT' }, async () => {
      await mapAlso(t, 'no-status-yet', echoPort + 1);
      await reached(t, echoPort + 1, pod, 5000);
      const { status } = await t.getPortMap('no-status-yet');
      t.record.same('positive control', 'conditions of a mapping that is served', 0, status?.conditions?.length ?? 0);
    });
    await t.conditionOf('no-status-yet', 'Programmed', 'True');
    await trouble({ method: 'GET' }, async () => {
      await endWatches(t);
      await mapAlso(t, 'late', echoPort + 2);
    });
    await reached(t, echoPort + 2, pod, 10_000);
    await undisturbed();
  },
});
