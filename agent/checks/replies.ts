/**
 * The sign, on the node itself, of a CNI that sends replies past the host's stack: requests are translated, and no
 * conntrack entry ever sees an answer. A pod that a NetworkPolicy shuts off looks the same, hence a warning.
 */
import { run } from '../datapath/command.ts';
import { observeRuleset } from '../datapath/observe.ts';
import { type Finding, ok, warning } from './finding.ts';

/** Fewer flows without an answer may be somebody's scan of a silent UDP port. */
const fewest = 5;

/** Flows in a listing of `conntrack -L` whose answers come from one of the pods, and how many have been answered. */
export function countReplies(listing: string, pods: ReadonlySet<string>): { flows: number; answered: number } {
  const ours = listing.split('\n').filter((line) => {
    const [, replySource = ''] = line.match(/(?<=\bsrc=)[\d.]+/g) ?? [];
    return pods.has(replySource);
  });
  return { flows: ours.length, answered: ours.filter((line) => !line.includes('[UNREPLIED]')).length };
}

/** @throws CommandError */
export async function checkReplies(): Promise<Finding> {
  const check = 'host/replies';
  const { sets } = await observeRuleset();
  const targets = [...sets.ports.values(), ...sets['port-ranges'].values()];
  // Elements of links lead to the far end of a /31, whose answers come by another way.
  const pods = new Set(targets.map(({ value = '' }) => value.split(' ')[0] ?? ''));
  if (pods.size === 0) return ok(check, 'no mapping here yet');
  const { flows, answered } = countReplies(await run('conntrack', ['-L', '-f', 'ipv4', '--dst-nat']), pods);
  if (flows < fewest || answered > 0) return ok(check, `${answered} of ${flows} flows have been answered`);
  const found = warning(
    check,
    "none of the flows to mappings of this node has been answered through the host's stack",
    'with Cilium set enable-host-legacy-routing: "true" in ConfigMap kube-system/cilium-config and restart its agents; else see whether a NetworkPolicy shuts the pods off',
  );
  return { ...found, detail: `${flows} flows` };
}
