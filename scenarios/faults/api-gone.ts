import { scenario } from '../../lab/scenario/scenario.ts';
import { AgentRequests, mostPerSecond, watchedKinds } from '../api-requests.ts';
import { endWatches, involved, involvedUsers, mapAlso, reached, steadyDelivery } from '../api-trouble.ts';
import { echoPort } from '../echo-pod.ts';

/** How long every watch is refused, in milliseconds. */
const troubleMs = 6000;

/** A list and a watch, then waits of 0.2, 0.4 ... s of which half may be jitter: so many rounds at most begin within the trouble. */
const rounds = 7;

export default scenario({
  sentence:
    'Agents whose watches are answered 410 (history compacted) list anew, ever less often: no client notices, changes get through all the same, and deletions that nobody told of are seen',
  timeoutMs: 60_000,
  async run(t) {
    const { pod, undisturbed } = await steadyDelivery(t);
    await mapAlso(t, 'deleted-meanwhile', echoPort + 1);
    await reached(t, echoPort + 1, pod, 5000);
    const counts = await Promise.all(involved.map((node) => AgentRequests.from(t, node)));
    const faults = await Promise.all(
      involvedUsers.map((user) => t.apiFault({ effect: 'Expired', path: 'watch=true', user })),
    );
    const begin = Date.now();
    // Deleted and forgotten before anybody can be told.
    await t.lab.agents.pause();
    await endWatches(t);
    await t.lab.cluster.delete('kuport.wlz.li/v1alpha1', 'PortMap', 'deleted-meanwhile', t.namespace);
    await t.lab.cluster.call('POST', '/lab/compact');
    await t.lab.agents.resume();
    await mapAlso(t, 'made-meanwhile', echoPort + 2);
    // A list every few seconds is all they have.
    await reached(t, echoPort + 2, pod, troubleMs);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    await t.silent(client, { protocol: 'UDP', address: '203.0.113.9', port: echoPort + 1 }, 'deleted meanwhile');
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, begin + troubleMs - Date.now())));
    for (const [index, node] of involved.entries()) {
      const hits = (await faults[index]?.hits()) ?? 0;
      t.record.check(
        'positive control',
        `${node}: watches answered 410`,
        `at least ${watchedKinds}`,
        hits,
        hits >= watchedKinds,
      );
      const reads = ((await counts[index]?.list()) ?? []).filter(({ method }) => method === 'GET');
      const bound = 2 * rounds * watchedKinds;
      t.record.check(
        'assertion',
        `${node}: lists and watches in ${troubleMs / 1000} s of it, as the server counted them`,
        `at most ${bound}, no more than 50 within a second`,
        `${reads.length}, ${mostPerSecond(reads)} within a second`,
        reads.length <= bound && mostPerSecond(reads) <= 50,
      );
      await faults[index]?.lift();
    }
    await t.conditionOf('made-meanwhile', 'Programmed', 'True');
    await mapAlso(t, 'made-after', echoPort + 3);
    await reached(t, echoPort + 3, pod, 12_000);
    await undisturbed();
  },
});
