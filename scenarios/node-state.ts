/** All of a node that kuport could have touched, as text: the same before and after means no trace. */
import type { Host } from '../lab/backends/host.ts';

const script = `nft -s list ruleset
ip -d link show | grep -v 'link/ether'
ip -4 address show
ip rule show
ip -4 route show table all
grep -s . /proc/sys/net/ipv4/conf/*/rp_filter
true`;

export async function nodeState(host: Host): Promise<string> {
  return (await host.exec(['sh', '-c', script])).stdout;
}

/** Conntrack entries of flows that have arrived over a link of kuport's. */
export async function markedFlows(host: Host): Promise<number> {
  const { stdout } = await host.exec(['conntrack', '-L', '-m', '0x6b700000/0xffff0000']);
  return stdout.split('\n').filter((line) => line !== '').length;
}

/** The first line in which two states differ, for a report; null when they are the same. */
export function firstDifference(before: string, after: string): string | null {
  if (before === after) return null;
  const [old, now] = [before.split('\n'), after.split('\n')];
  const index = now.findIndex((line, at) => line !== old[at]);
  return index < 0 ? `gone: ${old[now.length] ?? ''}` : `"${old[index] ?? ''}" is "${now[index] ?? ''}"`;
}
