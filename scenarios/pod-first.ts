/** A pod that speaks first after its client's flow has been forgotten: the push is lost, and nothing worse comes of it. */
import type { ScenarioContext } from '../lab/scenario/context.ts';
import type { ClassRequest } from '../lab/scenario/kuport-objects.ts';
import { echoDelivers, echoPorts, mapEcho, target } from './echo-pod.ts';
import { forgetSoon } from './idle-clients.ts';
import { silence, UdpFlow } from './udp-flow.ts';

/** Longer than the nodes remember. */
const forgottenMs = 3500;

export async function podSpeaksFirst(
  t: ScenarioContext,
  node: string,
  portMapClass: ClassRequest,
  addresses: readonly string[],
  { isHeard }: { isHeard: boolean },
): Promise<void> {
  const [udp] = echoPorts;
  if (udp === undefined) throw new Error('no UDP port');
  await forgetSoon(t, [...new Set([...Object.keys(portMapClass.nodes), node])]);
  const pod = await t.pod({ node, ports: echoPorts });
  await mapEcho(t, portMapClass);
  await echoDelivers(t, pod);
  const flows: UdpFlow[] = [];
  for (const client of t.clients()) {
    for (const address of addresses) {
      await t.awaitDelivery(client, { ...target('UDP'), address }, pod);
      flows.push(await UdpFlow.open(t, client, { address, port: udp.port }));
    }
  }
  for (const flow of flows) {
    const heard = await flow.ask();
    t.record.same(
      'positive control',
      `${flow.title}: answered from`,
      `${flow.address}:${flow.port}`,
      heard?.from ?? 'nothing',
    );
    const push = await flow.push(pod, udp);
    t.record.same(
      'positive control',
      `${flow.title}: a push in time is heard from`,
      `${flow.address}:${flow.port}`,
      push?.from ?? 'nothing',
    );
  }
  const seenAs = flows.map((flow) => flow.seenAs);
  await silence(forgottenMs);
  const pushes = await Promise.all(flows.map((flow) => flow.push(pod, udp)));
  for (const [index, flow] of flows.entries()) {
    const from = pushes[index]?.from ?? 'nothing';
    const dialled = `${flow.address}:${flow.port}`;
    const title = `${flow.title}: a push after the flow was forgotten`;
    if (isHeard) t.record.same('assertion', `${title} is heard from`, dialled, from);
    else t.record.same('negative', `${title} is heard from`, 'nothing', from);
  }
  // The client speaks again, at once: the pod knows it by the port it had.
  for (const [index, flow] of flows.entries()) {
    const heard = await flow.ask();
    t.record.same(
      'assertion',
      `${flow.title}: speaks again, answered from`,
      `${flow.address}:${flow.port}`,
      heard?.from ?? 'nothing',
    );
    t.record.same('assertion', `${flow.title}: the pod sees it as before`, seenAs[index] ?? null, flow.seenAs);
    const push = await flow.push(pod, udp);
    t.record.same(
      'assertion',
      `${flow.title}: pushes are heard again from`,
      `${flow.address}:${flow.port}`,
      push?.from ?? 'nothing',
    );
  }
}
