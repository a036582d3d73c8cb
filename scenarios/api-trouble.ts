/** What every scenario of API trouble begins and ends with: a mapping with a steady flow, which must not notice. */
import { agentUser } from '../lab/control-plane.ts';
import type { ScenarioContext } from '../lab/scenario/context.ts';
import { waitFor } from '../lab/wait.ts';
import type { Pod } from '../lab/workload/workload.ts';
import { watchedKinds } from './api-requests.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from './echo-pod.ts';

/** The accepting node and the pod's. */
export const involved = [edge.name, 'worker-b'] as const;

/** The agents of the nodes involved, as a fault names its user: all of them. */
export const involvedUsers = involved.map(agentUser);

/** Requests per second of the steady flow, in namespaces. */
const fullRate = 50;

export interface Delivery {
  pod: Pod;
  /** Ends the flow: no request may have been lost. */
  undisturbed(): Promise<void>;
}

/** Longer than the longest wait between attempts that a scenario before this one can have left. Milliseconds, in namespaces. */
const calmWithinMs = 20_000;

/** An agent takes a watch for broken that ends sooner after its beginning. Milliseconds. */
const watchAgeMs = 1000;

/** Waits until every agent concerned watches all it needs: some may still wait after the trouble of the scenario before. */
async function calm(t: ScenarioContext): Promise<void> {
  await waitFor(
    `${watchedKinds} watches of each agent of ${involved.join(' and ')}`,
    async () => {
      const { watches } = (await t.lab.cluster.call('GET', '/lab/watches')) as {
        watches: { user: string; milliseconds: number }[];
      };
      const settled = (user: string): number =>
        watches.filter((watch) => watch.user === user && watch.milliseconds > watchAgeMs).length;
      return involvedUsers.every((user) => settled(user) >= watchedKinds) ? true : undefined;
    },
    { timeoutMs: t.pace.time(calmWithinMs), intervalMs: 100 },
  );
}

/** A pod on worker-b, accepted on edge-a, agents at rest, and a client that does not stop asking. */
export async function steadyDelivery(t: ScenarioContext): Promise<Delivery> {
  await calm(t);
  const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
  await mapEcho(t);
  await echoDelivers(t, pod);
  const [client] = t.clients();
  if (client === undefined) throw new Error('no client');
  const { station } = t.host(client.name);
  const perSecond = Math.max(5, Math.round(fullRate / t.pace.factor));
  const { flow } = await station.request('flowStart', {
    ...target('UDP'),
    perSecond,
    answerMs: t.pace.packets(1000),
  });
  t.defer('flow', () => station.request('flowStop', { flow }).catch(() => undefined));
  return {
    pod,
    undisturbed: async () => {
      const report = await station.request('flowStop', { flow });
      t.record.check(
        'assertion',
        `the datapath stays: lost of ${report.sent} requests during it`,
        0,
        report.lost,
        report.lost === 0 && report.sent > perSecond,
      );
      t.record.same(
        'assertion',
        'the pod saw only',
        `${t.lab.publicAddress(client)}:${report.sourcePort}`,
        Object.keys(report.peers).join(', '),
      );
    },
  };
}

/** Asks for one more port, in an object of that name. */
export async function mapAlso(t: ScenarioContext, name: string, port: number): Promise<void> {
  await t.portMap({ name, className: 'public', protocol: 'UDP', port, serviceRef: { name: 'echo', port: 'echo-udp' } });
}

/**
 * Probes until the port leads to the pod. Judged by packets alone, for when no status can be written.
 * @returns milliseconds
 */
export async function reached(t: ScenarioContext, port: number, pod: Pod, withinMs: number): Promise<number> {
  const [client] = t.clients();
  if (client === undefined) throw new Error('no client');
  const begin = performance.now();
  for (;;) {
    const result = await t.exchange(client, target('UDP', port), {
      timeoutMs: t.pace.packets(200),
      note: 'until the change is programmed',
    });
    const took = Math.round(performance.now() - begin);
    const isThere = result.reply?.pod === pod.record.name && result.reply.peer === t.lab.publicAddress(client);
    if (isThere || took > t.pace.time(withinMs)) {
      t.record.check(
        'assertion',
        `port ${port} leads to ${pod.record.name} with the client's address`,
        `within ${t.pace.time(withinMs)} ms`,
        isThere ? `after ${took} ms` : result.outcome,
        isThere && took <= t.pace.time(withinMs),
      );
      return took;
    }
  }
}

/** Ends all watches, so that what the server does to new requests concerns everybody. */
export async function endWatches(t: ScenarioContext): Promise<void> {
  await t.lab.cluster.call('POST', '/lab/end-watches');
}
