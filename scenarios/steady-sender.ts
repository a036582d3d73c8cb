/** A client that goes on sending from one port, ten times a second, and hears refusals: what keeps a conntrack entry alive. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ScenarioContext } from '../lab/scenario/context.ts';
import type { ProbeResult } from '../lab/station/protocol.ts';
import type { Client } from '../lab/topology/topology.ts';
import { target } from './echo-pod.ts';

const intervalMs = 100;

export async function send(t: ScenarioContext, client: Client, sourcePort: number, note: string): Promise<ProbeResult> {
  const result = await t.exchange(client, target('UDP'), { sourcePort, connected: true, timeoutMs: intervalMs, note });
  if (result.outcome !== 'timeout') await sleep(intervalMs);
  return result;
}

/** Goes on until an exchange ends as wanted. @returns milliseconds since the call; null when it did not within `forMs` */
export async function sendUntil(
  t: ScenarioContext,
  client: Client,
  sourcePort: number,
  { note, forMs, until }: { note: string; forMs: number; until: (result: ProbeResult) => boolean },
): Promise<number | null> {
  const begin = performance.now();
  while (performance.now() - begin < forMs) {
    if (until(await send(t, client, sourcePort, note))) return Math.round(performance.now() - begin);
  }
  return null;
}
