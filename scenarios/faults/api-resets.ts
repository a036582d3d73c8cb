import { setTimeout as sleep } from 'node:timers/promises';
import { scenario } from '../../lab/scenario/scenario.ts';
import { AgentRequests, lists, mostPerSecond, watchedKinds } from '../api-requests.ts';
import { endWatches, involved, involvedUsers, mapAlso, reached, steadyDelivery } from '../api-trouble.ts';
import { echoPort } from '../echo-pod.ts';

const troubleMs = 6000;
/** Waits of 0.2, 0.4 ... s of which half may be jitter: so many attempts at most begin within the trouble, and one that was under way. */
const rounds = 7;

export default scenario({
  sentence:
    'Connections that are cut under every request of the agents cost a few attempts a second and no client anything; with whole connections again the agents go on where they were',
  timeoutMs: 60_000,
  async run(t) {
    const { pod, undisturbed } = await steadyDelivery(t);
    const counts = await Promise.all(involved.map((node) => AgentRequests.from(t, node)));
    const faults = await Promise.all(involvedUsers.map((user) => t.apiFault({ effect: 'Reset', user })));
    await endWatches(t);
    await mapAlso(t, 'made-meanwhile', echoPort + 1);
    await sleep(troubleMs);
    for (const [index, node] of involved.entries()) {
      const hits = (await faults[index]?.hits()) ?? 0;
      t.record.check(
        'positive control',
        `${node}: requests cut`,
        `at least ${watchedKinds}`,
        hits,
        hits >= watchedKinds,
      );
      const requests = (await counts[index]?.list()) ?? [];
      const bound = rounds * watchedKinds;
      t.record.check(
        'assertion',
        `${node}: requests in ${troubleMs / 1000} s of it, as the server counted them`,
        `at most ${bound}, no more than 30 within a second`,
        `${requests.length}, ${mostPerSecond(requests)} within a second`,
        requests.length <= bound && mostPerSecond(requests) <= 30,
      );
      await faults[index]?.lift();
    }
    // By the longest wait that the attempts have come to.
    await reached(t, echoPort + 1, pod, 15_000);
    for (const [index, node] of involved.entries()) {
      const requests = (await counts[index]?.list()) ?? [];
      const watches = requests.filter(({ isWatch }) => isWatch).length;
      t.record.check(
        'positive control',
        `${node}: watches asked for, those that were cut included`,
        `at least ${watchedKinds}`,
        watches,
        watches >= watchedKinds,
      );
      const listed = lists(requests).map(({ path }) => path);
      t.record.same(
        'assertion',
        `${node}: lists, since the server still knew where the watches were`,
        '',
        listed.join(', '),
      );
    }
    await undisturbed();
  },
});
