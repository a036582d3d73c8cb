/** Looks at every router and node before and after one exchange: what its story is told from. */
import { snapshotCounters } from '../evidence/counters.ts';
import { type ExpectedWay, firstDifference } from '../evidence/difference.ts';
import type { Exchange, Hop, Story } from '../evidence/results.ts';
import { tellStory, type WitnessedHost } from '../evidence/story.ts';
import type { Lab } from '../lab.ts';
import { routerName } from '../network/segments.ts';
import type { ProbeResult } from '../station/protocol.ts';
import type { Client } from '../topology/topology.ts';
import type { PodRecord } from '../workload/objects.ts';
import type { Target } from './record.ts';

/** What a story has to know of the pod that is to be reached. */
export type WitnessedPod = Pick<PodRecord, 'name' | 'node' | 'address'>;

export interface WitnessOptions {
  title: string;
  client: Client;
  target: Target;
  /** Where it should have got to; undefined for an exchange of which nothing is expected. */
  pod?: WitnessedPod | undefined;
  /** Also what other rules than kuport's have counted: takes three times as long, and tells who dropped a packet. */
  thorough?: boolean;
}

interface Watched {
  name: string;
  role: Hop['role'];
}

function watchedHosts(lab: Lab): Watched[] {
  return [
    ...lab.topology.sites
      .filter((site) => site.router !== undefined)
      .map((site): Watched => ({ name: routerName(site), role: 'router' })),
    ...lab.topology.nodes.map(({ name }): Watched => ({ name, role: 'node' })),
  ];
}

/** @param exchange makes one exchange and tells how the client saw it */
export async function witness(
  lab: Lab,
  { title, client, target, pod, thorough = false }: WitnessOptions,
  exchange: () => Promise<{ result: ProbeResult; record: Exchange }>,
): Promise<{ result: ProbeResult; story: Story }> {
  const watched = watchedHosts(lab);
  const look = () =>
    Promise.all(
      watched.map(({ name, role }) =>
        snapshotCounters(lab.host(name), role === 'router' ? 'connections' : thorough ? 'everything' : 'kuport'),
      ),
    );
  const before = await look();
  const { result, record } = await exchange();
  const after = await look();
  const hosts = watched.flatMap(({ role }, index): WitnessedHost[] => {
    const [earlier, later] = [before[index], after[index]];
    return earlier === undefined || later === undefined ? [] : [{ role, before: earlier, after: later }];
  });
  const sent = {
    protocol: target.protocol,
    source: client.address,
    sourcePort: result.sourcePort,
    destination: target.address,
    destinationPort: target.port,
  };
  const story = tellStory(title, record, sent, hosts);
  const difference = pod === undefined ? null : firstDifference(story, expectedWay(lab, client, target, pod, hosts));
  return { result, story: difference === null ? story : { ...story, difference } };
}

function expectedWay(
  lab: Lab,
  client: Client,
  target: Target,
  pod: WitnessedPod,
  hosts: readonly WitnessedHost[],
): ExpectedWay {
  const site = lab.topology.sites.find((each) => each.name === client.site);
  const podNode = hosts.find(({ after }) => after.host === pod.node)?.after;
  return {
    router: site?.router === undefined ? null : routerName(site),
    acceptingNode: lab.topology.nodes.find((node) => node.address === target.address)?.name ?? null,
    client: lab.publicAddress(client),
    pod: pod.name,
    podNode: pod.node,
    podAddress: pod.address,
    linkAddresses: (podNode?.addresses ?? [])
      .filter(({ device }) => device.startsWith('kup-'))
      .map(({ address }) => address),
  };
}
