/** Whoever reaches a mapping's pod by another way than the mapping is answered as ever. */
import type { Host } from '../lab/backends/host.ts';
import type { ScenarioContext } from '../lab/scenario/context.ts';
import { formatTarget, type Target } from '../lab/scenario/record.ts';
import type { Pod } from '../lab/workload/workload.ts';

/**
 * One exchange of any host with the pod.
 * @param address the host's own, for the record
 * @param seen what the pod must see: an address
 */
export async function reaches(
  t: ScenarioContext,
  { host, address, seen }: { host: Host; address: string; seen: string },
  to: Target,
  pod: Pod,
  note: string,
): Promise<void> {
  const result = await t.record.exchange(host, address, to, { note });
  const title = `${note}: ${host.name} ${formatTarget(to)}`;
  t.record.same('assertion', `${title}: answered from`, to.address, result.from ?? result.outcome);
  t.record.same('assertion', `${title}: by`, pod.record.name, result.reply?.pod ?? null);
  t.record.same('assertion', `${title}: the pod sees`, seen, result.reply?.peer ?? null);
}
