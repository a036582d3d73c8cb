/** One exchange as a sequence diagram: client, accepting node, pod's node, pod, with the addresses each of them saw. */
import { formatDuration } from '../terminal/duration.ts';
import { type Markup, markup } from './markup.ts';
import type { Exchange } from './results.ts';
import { nodeWithAddress, type TopologyPicture } from './topology-picture.ts';

/** Narrow enough for a phone; a wide page shows several side by side. */
export const WIDTH = 340;
const LEFT = 34;
export const LANE_HEAD = 40;

export interface Lane {
  name: string;
  role: string;
}

export interface Message {
  from: number;
  to: number;
  tone: 'request' | 'answer' | 'wrong' | 'refused' | 'lost';
  labels: string[];
  /** Lanes it passes through on its way. */
  via?: number[];
}

/** Exchanges that differ only in ports chosen by the client and in time look the same: draw one, and say how many. */
export function groupExchanges(exchanges: readonly Exchange[]): Exchange[][] {
  const groups = new Map<string, Exchange[]>();
  for (const exchange of exchanges) {
    const { source, podSaw, roundTripMs, ...rest } = exchange;
    const portKept = podSaw !== null && portOf(source) === portOf(podSaw);
    const key = JSON.stringify([rest, hostOf(source), podSaw && hostOf(podSaw), portKept, roundTripMs === null]);
    groups.set(key, [...(groups.get(key) ?? []), exchange]);
  }
  return [...groups.values()];
}

/** The node that took the packet in: as recorded, else whoever has the dialled address. */
export function acceptingNodeOf(exchange: Exchange, topology: TopologyPicture): string | undefined {
  return exchange.acceptingNode ?? nodeWithAddress(topology, hostOf(exchange.dialled))?.name;
}

/** True where an answer came, and came from the address and port that were dialled. */
export function answeredAsDialled(exchange: Exchange): boolean {
  return exchange.answerFrom === exchange.dialled;
}

/** The diagram; hidden from screen readers, since the table of exchanges beside it says the same in words. */
export function sequenceSvg(exchange: Exchange, topology: TopologyPicture): Markup {
  const lanes = lanesOf(exchange, topology);
  const messages = messagesOf(exchange, lanes);
  const at = laneX(lanes.length);
  let y = LANE_HEAD + 6;
  const drawn = messages.map((message) => {
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

/** Where each of so many lanes stands. */
export function laneX(lanes: number): (lane: number) => number {
  const spacing = (WIDTH - 2 * LEFT) / Math.max(1, lanes - 1);
  return (lane) => LEFT + lane * spacing;
}

export function drawLanes(lanes: readonly Lane[], at: (lane: number) => number, height: number): Markup[] {
  const room = Math.floor((WIDTH - 2 * LEFT) / Math.max(1, lanes.length - 1) / 6.2);
  return lanes.map((lane, index) => drawLane(lane, at(index), height, room));
}

function lanesOf(exchange: Exchange, topology: TopologyPicture): Lane[] {
  const accepting = acceptingNodeOf(exchange, topology) ?? hostOf(exchange.dialled);
  const lanes: Lane[] = [
    { name: exchange.client, role: 'client' },
    { name: accepting, role: 'accepts' },
  ];
  if (exchange.node !== null && exchange.node !== accepting) lanes.push({ name: exchange.node, role: "pod's node" });
  lanes.push({ name: exchange.pod ?? 'pod', role: 'pod' });
  return lanes;
}

function messagesOf(exchange: Exchange, lanes: readonly Lane[]): Message[] {
  const pod = lanes.length - 1;
  const reached = exchange.podSaw !== null;
  const messages: Message[] = [
    {
      from: 0,
      to: 1,
      tone: 'request',
      labels: [`${exchange.protocol} from ${exchange.source}`, `to ${exchange.dialled}`],
    },
  ];
  if (reached) {
    if (pod > 2) messages.push({ from: 1, to: 2, tone: 'request', labels: [] });
    messages.push({ from: pod - 1, to: pod, tone: 'request', labels: [`pod saw ${exchange.podSaw}`] });
  }
  if (exchange.answerFrom === null) {
    if (exchange.outcome !== 'timeout') {
      // An ICMP error or a RST did arrive; who sent it, the client cannot tell.
      messages.push({ from: reached ? pod : 1, to: 0, tone: 'refused', labels: [exchange.outcome] });
      return messages;
    }
    if (!reached)
      messages.push({ from: 1, to: pod, tone: 'lost', labels: ['nothing is known to have reached the pod'] });
    messages.push({ from: reached ? pod : 1, to: 0, tone: 'lost', labels: ['no answer'] });
    return messages;
  }
  const time = exchange.roundTripMs === null ? '' : ` · ${formatDuration(exchange.roundTripMs)}`;
  const from = `answer from ${exchange.answerFrom}${time}`;
  messages.push(
    answeredAsDialled(exchange)
      ? { from: pod, to: 0, tone: 'answer', labels: [from], via: lanes.map((_, lane) => lane).slice(1, -1) }
      : { from: pod, to: 0, tone: 'wrong', labels: [from, 'not the address that was dialled'] },
  );
  return messages;
}

/** @param room characters of a name that do not run into the next lane's */
function drawLane({ name, role }: Lane, x: number, height: number, room: number): Markup {
  const most = Math.min(13, room);
  const shown = name.length > most ? `${name.slice(0, most - 1)}…` : name;
  // The outer lanes' names are wider than the margin: they keep inside the drawing.
  const half = shown.length * 3.4;
  const textX = Math.min(Math.max(x, half), WIDTH - half);
  return markup`<line class="lane" x1="${x}" y1="${LANE_HEAD}" x2="${x}" y2="${height}"/>
<text class="lane-name" x="${textX}" y="14" text-anchor="middle">${shown}</text>
<text class="lane-role" x="${textX}" y="29" text-anchor="middle">${role}</text>
`;
}

export function drawMessage(
  { from, to, tone, labels, via }: Message,
  laneX: (lane: number) => number,
  y: number,
): Markup {
  const [start, end] = [laneX(from), laneX(to)];
  const direction = end > start ? 1 : -1;
  const tip = tone === 'lost' ? start + (end - start) * 0.55 : end;
  const head =
    tone === 'lost'
      ? markup`<path d="M${tip - 4} ${y - 4}l8 8m0 -8l-8 8"/>`
      : markup`<path class="head" d="M${tip} ${y}l${-7 * direction} -4v8z"/>`;
  const width = Math.max(0, ...labels.map((label) => label.length)) * 6.4;
  const x = Math.min(Math.max((start + end) / 2, width / 2 + 2), WIDTH - width / 2 - 2);
  const texts = labels.map(
    (label, index) =>
      markup`<text x="${x}" y="${y - 7 - (labels.length - 1 - index) * 14}" text-anchor="middle">${label}</text>`,
  );
  return markup`<g class="message ${tone}"><line x1="${start}" y1="${y}" x2="${tip}" y2="${y}"/>${head}${(
    via ?? []
  ).map((lane) => markup`<circle cx="${laneX(lane)}" cy="${y}" r="2.5"/>`)}${texts}</g>
`;
}

export function hostOf(addressAndPort: string): string {
  return addressAndPort.replace(/:\d+$/, '');
}

function portOf(addressAndPort: string): string {
  return addressAndPort.slice(hostOf(addressAndPort).length + 1);
}
