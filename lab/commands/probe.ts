/** `lab probe CLIENT udp://203.0.113.9:3000`: one exchange, told in words. */
import type { Lab } from '../lab.ts';
import type { Protocol } from '../station/protocol.ts';
import { formatDuration } from '../terminal/duration.ts';

export interface ProbeTarget {
  protocol: Protocol;
  address: string;
  port: number;
}

/** @throws Error saying what a target looks like */
export function parseTarget(text: string): ProbeTarget {
  const match = /^(udp|tcp):\/\/(\d+\.\d+\.\d+\.\d+):(\d+)$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65535)
    throw new Error(`"${text}" is no target: write udp://203.0.113.9:3000 or tcp://203.0.113.9:3000`);
  return { protocol: match[1] === 'udp' ? 'UDP' : 'TCP', address: match[2] ?? '', port };
}

/** @returns 0 when it was answered, 1 when not */
export async function probeCommand(lab: Lab, client: string, text: string, json: boolean): Promise<number> {
  const target = parseTarget(text);
  const result = await lab.host(client).station.request('probe', { ...target, timeoutMs: 2000 });
  lab.disconnect();
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else if (result.outcome !== 'answered' || result.reply === null) {
    process.stdout.write(
      `${client} -> ${text}: ${result.outcome}${result.errorCode === null ? '' : ` (${result.errorCode})`}\n`,
    );
  } else {
    const { reply } = result;
    process.stdout.write(
      `${client} -> ${text}: answered from ${result.from}:${result.fromPort} in ${formatDuration(result.roundTripMs ?? 0)}\n` +
        `pod ${reply.pod} on ${reply.node} saw the client as ${reply.peer}:${reply.peerPort}\n`,
    );
  }
  return result.outcome === 'answered' ? 0 : 1;
}
