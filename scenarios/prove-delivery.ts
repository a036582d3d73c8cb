/** The positive control of an ablation: with everything in place, both clients get through over both protocols. */
import { bothProtocols, type ScenarioContext } from '../lab/scenario/context.ts';
import type { Pod } from '../lab/workload/workload.ts';
import { target } from './echo-pod.ts';

export async function proveDelivery(t: ScenarioContext, pod: Pod, note: string): Promise<void> {
  for (const client of t.clients()) {
    for (const protocol of bothProtocols) await t.control(client, target(protocol), pod, note);
  }
}
