/** What others do to a node, and how soon everything is as before. */

import { agentLog } from '../lab/agents.ts';
import type { ScenarioContext } from '../lab/scenario/context.ts';
import { waitFor } from '../lab/wait.ts';
import type { Pod } from '../lab/workload/workload.ts';
import { agentMetric } from './agent-metrics.ts';
import { echoDelivers, echoPorts, edge, mapEcho } from './echo-pod.ts';
import { onlyLink } from './links.ts';
import { proveDelivery } from './prove-delivery.ts';

/** From the damage until the node holds what it held, in milliseconds. */
const putBackMs = 1000;

/** Everything of kuport's on a node, without what packets have counted or put there; sets in any order. */
const stateCommand = `
  nft list table ip kuport 2>&1 | sed '/set remote-clients {/,/^\t}/d' | sed 's/ packets [0-9]* bytes [0-9]*//g' | tr -s ' \\t,{}' '\\n' | sort
  ip rule show | grep 'proto 107'
  ip route show table all proto 107
  for link in $(ip -o link show type vxlan | grep -o 'kup-[0-9a-f]*'); do
    ip -d link show $link | sed 's/^[0-9]*: //; s/ qlen [0-9]*//'
    ip -4 addr show $link | grep -o 'inet [^ ]*'
    cat /proc/sys/net/ipv4/conf/$link/rp_filter
  done`;

export function stateOf(t: ScenarioContext, node: string): Promise<string> {
  return t
    .host(node)
    .exec(['sh', '-c', stateCommand])
    .then(({ stdout }) => stdout);
}

/** Pod on worker-b, accepted on edge-a: links, rules and routes on both sides. */
export interface Delivering {
  pod: Pod;
  /** The link's name on the accepting node and on the pod's. */
  links: { accepting: string; podSide: string };
}

export async function deliverOverLink(t: ScenarioContext): Promise<Delivering> {
  const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
  await mapEcho(t);
  await echoDelivers(t, pod);
  await proveDelivery(t, pod, 'before');
  const [accepting, podSide] = await Promise.all([onlyLink(t.host(edge.name)), onlyLink(t.host('worker-b'))]);
  return { pod, links: { accepting, podSide } };
}

/**
 * Does the damage and waits until the node holds what it held; then clients get through, and the agent has counted what
 * it has put back.
 * @param others what has to be mended by others before clients can get through
 * @param withinMs for what is not told of by an event, milliseconds
 */
export async function isPutBack(
  t: ScenarioContext,
  pod: Pod,
  node: string,
  command: string,
  { others, withinMs = putBackMs }: { others?: () => Promise<unknown>; withinMs?: number } = {},
): Promise<void> {
  const before = await stateOf(t, node);
  const repairs = await agentMetric(t, node, 'kuport_drift_repairs_total');
  const host = t.host(node);
  const { stdout } = await host.exec(['sh', '-c', `date +%s%3N; ${command}`]);
  const damagedAt = Number(stdout.trim().split('\n')[0]);
  // When, by the agent's log and the node's own clock: looking takes longer than mending.
  const took = await waitFor(
    `${node} to hold again what it held before, and to say so: ${command}`,
    async () => {
      if ((await stateOf(t, node)) !== before) return undefined;
      const repairedAt = (await host.readLog(agentLog, 100_000))
        .split('\n')
        .filter((line) => line.startsWith('{') && line.includes('"repaired"'))
        .map((line) => Date.parse((JSON.parse(line) as { time: string }).time))
        .filter((at) => at >= damagedAt);
      return repairedAt.length === 0 ? undefined : Math.max(...repairedAt) - damagedAt;
    },
    { timeoutMs: t.pace.time(withinMs) + 5000 },
  );
  t.record.check(
    'assertion',
    `${node}: ${command}: put back`,
    `within ${t.pace.time(withinMs)} ms`,
    `${took} ms`,
    took <= t.pace.time(withinMs),
  );
  await others?.();
  await proveDelivery(t, pod, `after: ${command}`);
  const counted = (await agentMetric(t, node, 'kuport_drift_repairs_total')) - repairs;
  t.record.check('assertion', `${node}: ${command}: counted as drift`, 'at least 1', counted, counted >= 1);
}
