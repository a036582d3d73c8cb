/** A story in the terminal: a block per hop, then the way back. */
import type { CounterRow, Hop, Story } from '../evidence/results.ts';
import { replyAddresses } from '../evidence/story.ts';
import { formatDuration } from './duration.ts';
import type { Colours } from './terminal.ts';

/** @returns its lines */
export function storyText({ exchange, hops, counters, difference }: Story, colours: Colours): string[] {
  const lines = [
    `${colours.bold(exchange.client)} sent ${exchange.protocol} ${exchange.source} → ${exchange.dialled}`,
    ...hops.flatMap((hop, index) => hopLines(hop, index + 1, colours)),
  ];
  const told = new Set(hops.map(({ host }) => host));
  for (const { host, rows } of counters) {
    if (told.has(host)) continue;
    const moved = rows.filter(({ before, after }) => before.packets !== after.packets);
    lines.push(
      '',
      `  ${colours.bold(host)} tracked nothing of it, and counted`,
      ...moved.map((row) => movedLine(row, colours)),
    );
  }
  lines.push('', ...endLines({ exchange, hops }, colours));
  if (difference !== undefined) lines.push('', `${colours.red('first difference:')} ${difference}`);
  return lines;
}

function hopLines({ host, arrived, left, sentTo, mark, moved }: Hop, ordinal: number, colours: Colours): string[] {
  const isSame = arrived.source === left.source && arrived.destination === left.destination;
  const owner = sentTo === undefined ? '' : colours.dim(`  ${sentTo}`);
  return [
    '',
    `${ordinal} ${colours.bold(host)}${mark === 0 ? '' : colours.dim(`  connection mark 0x${mark.toString(16)}`)}`,
    `    came as  ${arrived.source} → ${arrived.destination}`,
    `    left as  ${isSame ? 'it came' : `${left.source} → ${left.destination}`}${owner}`,
    ...moved.map((row) => movedLine(row, colours)),
  ];
}

function movedLine({ place, subject, before, after }: CounterRow, colours: Colours): string {
  const moved = after.packets - before.packets;
  const delta = `${moved < 0 ? '-' : '+'}${Math.abs(moved)}`;
  return `    ${delta.padStart(4)}     ${colours.cyan(place.replace(/^ip kuport /, ''))}  ${subject}`;
}

/** The way back, as far as it was seen. */
function endLines({ exchange, hops }: Pick<Story, 'exchange' | 'hops'>, colours: Colours): string[] {
  const lines: string[] = [];
  if (exchange.podSaw !== null)
    lines.push(`pod ${colours.bold(exchange.pod ?? '?')} on ${exchange.node} saw the client as ${exchange.podSaw}`);
  for (let index = hops.length - 1; index >= 0; index--) {
    const hop = hops[index];
    if (hop === undefined) break;
    if (!hop.answered) {
      lines.push(`no answer came back to ${hop.host}`);
      break;
    }
    const { source, destination } = replyAddresses(hop.arrived);
    lines.push(`the answer left ${hop.host} as ${source} → ${destination}`);
  }
  lines.push(
    exchange.answerFrom === null
      ? colours.red(`${exchange.client} heard no answer: ${exchange.outcome}`)
      : `${exchange.client} heard the answer from ${exchange.answerFrom}${exchange.roundTripMs === null ? '' : ` after ${formatDuration(exchange.roundTripMs)}`}`,
  );
  return lines;
}
