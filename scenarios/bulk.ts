/** TCP transfers of many times the link's MTU, both ways. */
import type { ScenarioContext } from '../lab/scenario/context.ts';
import type { Pod } from '../lab/workload/workload.ts';
import { target } from './echo-pod.ts';

const bytes = 400_000;
/** For such a transfer, in milliseconds: a stalled one has sent its first window and waits for good. */
const transferMs = 5000;

export async function bulkBothWays(t: ScenarioContext, pod: Pod, note: string): Promise<void> {
  for (const client of t.clients()) {
    const result = await t.exchange(client, target('TCP'), {
      size: bytes,
      replySize: bytes,
      timeoutMs: t.pace.packets(transferMs),
      note,
    });
    const title = `${client.name}: ${bytes} bytes to the pod and as many back, ${note}`;
    t.record.same('assertion', title, 'answered', result.outcome);
    t.record.same('assertion', `${title}: by`, pod.record.name, result.reply?.pod ?? null);
    const took = Math.round(result.roundTripMs ?? 0);
    t.record.check(
      'assertion',
      `${title}: arrived`,
      `${bytes} bytes`,
      `${result.reply?.received} in ${took} ms`,
      (result.reply?.received ?? 0) >= bytes,
    );
  }
}
