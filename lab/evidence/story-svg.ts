/** A story as a sequence diagram: a lane per host it passed, an arrow per leg with the addresses on that leg. */
import { formatDuration } from '../terminal/duration.ts';
import { type Markup, markup } from './markup.ts';
import type { PacketAddresses, Story } from './results.ts';
import {
  answeredAsDialled,
  drawLanes,
  drawMessage,
  LANE_HEAD,
  type Lane,
  laneX,
  type Message,
  WIDTH,
} from './sequence-svg.ts';
import { replyAddresses } from './story.ts';

export function storySvg(story: Story): Markup {
  const lanes = lanesOf(story);
  const at = laneX(lanes.length);
  let y = LANE_HEAD + 6;
  const drawn = messagesOf(story, lanes.length - 1).map((message) => {
    y += 8 + message.labels.length * 15;
    const row = drawMessage(message, at, y);
    y += 10;
    return row;
  });
  const height = y + 6;
  return markup`<svg class="sequence" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" aria-hidden="true">
${drawLanes(lanes, at, height)}
${drawn}
</svg>`;
}

/** Client, every host that tracked it with its number in the list beside the drawing, and the pod or what it never reached. */
function lanesOf({ exchange, hops }: Story): Lane[] {
  return [
    { name: exchange.client, role: 'client' },
    ...hops.map(({ host, role }, index) => ({
      name: host,
      role: `${index + 1} · ${role === 'router' ? 'router' : exchange.node === host ? "pod's node" : 'node'}`,
    })),
    { name: exchange.pod ?? '…', role: exchange.pod === null ? 'nobody answered' : 'pod' },
  ];
}

function messagesOf({ exchange, hops }: Story, pod: number): Message[] {
  const messages: Message[] = [];
  const [first] = hops;
  const last = hops.at(-1);
  if (first === undefined || last === undefined) {
    const labels = [`${exchange.source} → ${exchange.dialled}`, 'no host has tracked it'];
    messages.push({ from: 0, to: pod, tone: 'lost', labels });
    if (exchange.outcome !== 'timeout')
      messages.push({ from: pod, to: 0, tone: 'refused', labels: [exchange.outcome] });
    return messages;
  }
  messages.push({ from: 0, to: 1, tone: 'request', labels: [arrow(first.arrived)] });
  hops.forEach((hop, index) => {
    const isLast = index === hops.length - 1;
    const arrived = !isLast || exchange.podSaw !== null || hop.answered;
    messages.push({
      from: index + 1,
      to: index + 2,
      tone: arrived ? 'request' : 'lost',
      labels: arrived ? [arrow(hop.left)] : [arrow(hop.left), 'not seen any further'],
    });
  });
  return [...messages, ...answersOf({ exchange, hops }, pod)];
}

function answersOf({ exchange, hops }: Pick<Story, 'exchange' | 'hops'>, pod: number): Message[] {
  const messages: Message[] = [];
  const time = exchange.roundTripMs === null ? '' : ` · ${formatDuration(exchange.roundTripMs)}`;
  let from = pod;
  for (let index = hops.length - 1; index >= 0; index--) {
    const hop = hops[index];
    if (hop?.answered !== true) break;
    const next = hops[index + 1];
    const addresses = next === undefined ? replyAddresses(hop.left) : replyAddresses(next.arrived);
    messages.push({ from, to: index + 1, tone: 'answer', labels: [arrow(addresses)] });
    from = index + 1;
  }
  if (exchange.answerFrom !== null) {
    const label = `${exchange.answerFrom} → ${exchange.source}${time}`;
    messages.push(
      answeredAsDialled(exchange)
        ? { from, to: 0, tone: 'answer', labels: [label] }
        : { from, to: 0, tone: 'wrong', labels: [label, 'not the address that was dialled'] },
    );
  } else if (exchange.outcome !== 'timeout')
    messages.push({ from, to: 0, tone: 'refused', labels: [exchange.outcome] });
  else if (from !== pod || hops.at(-1)?.answered === true)
    messages.push({ from, to: 0, tone: 'lost', labels: ['the client heard nothing'] });
  else messages.push({ from: pod, to: 0, tone: 'lost', labels: ['no answer was seen anywhere'] });
  return messages;
}

function arrow({ source, destination }: PacketAddresses): string {
  return `${source} → ${destination}`;
}
