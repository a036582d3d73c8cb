/** Compares the story of an exchange with the way it should have gone, and names the first hop where they part. */
import type { Hop, Story } from './results.ts';
import { hostOf } from './sequence-svg.ts';

/** The way to a pod, by the topology and the pod: not by anything the agents have programmed. */
export interface ExpectedWay {
  /** The client's router; null for a client on the internet itself. */
  router: string | null;
  /** Node whose address was dialled; null for an address that is no node's own. */
  acceptingNode: string | null;
  /** The address by which the pod should know the client. */
  client: string;
  pod: string;
  podNode: string;
  podAddress: string;
  /** The pod node's ends of kuport's links. */
  linkAddresses: readonly string[];
}

/** @returns one sentence, or null where everything went as it should */
export function firstDifference(story: Story, way: ExpectedWay): string | null {
  const { exchange, hops } = story;
  const dialled = exchange.dialled;
  const router = hops[0];
  if (way.router !== null && router?.host !== way.router) {
    return `${way.router}: expected ${exchange.client}'s packet to ${dialled} to pass, seen ${router === undefined ? 'nothing of it' : `it on ${router.host} instead`}`;
  }
  const [accepting, podHop] = way.router === null ? hops : hops.slice(1);
  const acceptingName = way.acceptingNode ?? accepting?.host ?? 'the accepting node';
  if (accepting === undefined) {
    return `${acceptingName}: expected to take in ${dialled} from ${way.client}, seen no tracked connection${dropsOn(story, acceptingName)}`;
  }
  if (way.acceptingNode !== null && accepting.host !== way.acceptingNode) {
    return `${accepting.host}: expected ${dialled} to be taken in by ${way.acceptingNode}, seen here`;
  }
  const isLocal = accepting.host === way.podNode;
  const wanted = isLocal ? [way.podAddress] : way.linkAddresses;
  const sentOn = hostOf(accepting.left.destination);
  if (!wanted.includes(sentOn)) {
    const target = isLocal ? `the pod's ${way.podAddress}` : `${way.podNode}'s end of a link (${list(wanted)})`;
    const seen =
      accepting.left.destination === accepting.arrived.destination
        ? 'it untranslated'
        : `it translated to ${accepting.left.destination}${accepting.sentTo === undefined ? '' : ` (${accepting.sentTo})`}`;
    return `${accepting.host}: expected ${dialled} to be translated to ${target}, seen ${seen}`;
  }
  if (isLocal) return atPodNode(story, way, accepting) ?? onTheWayBack(story, [accepting]);
  if (hostOf(accepting.left.source) !== way.client) {
    return `${accepting.host}: expected the client's ${way.client} to stay the source, seen ${accepting.left.source}`;
  }
  if (podHop === undefined) {
    return `${way.podNode}: expected ${accepting.left.destination} to arrive over the link, seen no tracked connection${linkWords(accepting)}${dropsOn(story, way.podNode)}`;
  }
  if (podHop.host !== way.podNode) {
    return `${podHop.host}: expected ${accepting.left.destination} to arrive on ${way.podNode}, seen here`;
  }
  return atPodNode(story, way, podHop) ?? onTheWayBack(story, [accepting, podHop]);
}

function atPodNode({ exchange }: Story, way: ExpectedWay, hop: Hop): string | null {
  if (hostOf(hop.left.destination) !== way.podAddress) {
    const seen = hop.left.destination === hop.arrived.destination ? 'it untranslated' : hop.left.destination;
    return `${hop.host}: expected ${hop.arrived.destination} to be translated to the pod's ${way.podAddress}, seen ${seen}`;
  }
  if (hostOf(hop.left.source) !== way.client) {
    return `${hop.host}: expected the client's ${way.client} to stay the source, seen it rewritten to ${hop.left.source}`;
  }
  if (exchange.pod !== null && exchange.pod !== way.pod) {
    return `${hop.host}: expected ${way.pod} to answer, seen ${exchange.pod}`;
  }
  if (!hop.answered) return `${hop.host}: expected ${way.pod}'s answer to come back, seen none`;
  return null;
}

/** @param hops accepting node first */
function onTheWayBack({ exchange }: Story, hops: readonly Hop[]): string | null {
  const [accepting, podHop] = hops;
  if (podHop !== undefined && accepting !== undefined && !accepting.answered) {
    const sent = podHop.moved.find((row) => row.kind === 'link' && row.subject === 'sent');
    const errors = podHop.moved.filter((row) => row.kind === 'link' && /errors|dropped|collisions/.test(row.subject));
    const seen =
      errors.length > 0
        ? `${errors.map((row) => `${row.subject} +${row.after.packets - row.before.packets}`).join(' and ')} on ${errors[0]?.place}`
        : sent === undefined
          ? `nothing sent into a link (connection mark ${hex(podHop.mark)})`
          : `${sent.after.packets - sent.before.packets} packets sent into ${sent.place}, none on ${accepting.host}`;
    return `${podHop.host}: expected the answer to go back over the link to ${accepting.host}, seen ${seen}`;
  }
  if (exchange.answerFrom === null) {
    return `${accepting?.host}: expected the answer to reach ${exchange.client} from ${exchange.dialled}, seen ${exchange.outcome} at the client although it came back this far`;
  }
  if (exchange.answerFrom !== exchange.dialled) {
    return `${accepting?.host}: expected the answer to leave from ${exchange.dialled}, seen ${exchange.answerFrom} at the client`;
  }
  return null;
}

function dropsOn({ counters }: Story, host: string): string {
  const drops = counters
    .filter((table) => table.host === host)
    .flatMap(({ rows }) => rows)
    .filter((row) => row.after.packets > row.before.packets && /\b(drop|reject)\b/.test(row.text ?? row.subject));
  const [first] = drops;
  return first === undefined ? '' : `; dropped there by ${first.place}: ${first.subject}`;
}

function linkWords({ host, moved }: Hop): string {
  const rows = moved.filter((row) => row.kind === 'link' && row.subject !== 'received');
  if (rows.length === 0) return `; ${host} sent nothing into a link`;
  return `; on ${host} ${rows.map((row) => `${row.place} ${row.subject} +${row.after.packets - row.before.packets}`).join(', ')}`;
}

function list(addresses: readonly string[]): string {
  return addresses.length === 0 ? 'it has none' : addresses.join(' or ');
}

function hex(mark: number): string {
  return mark === 0 ? '0' : `0x${mark.toString(16)}`;
}
