import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

export default scenario({
  sentence:
    "Without the rule at preference 102 replies leave by the pod node's own uplink: over UDP the home router answers in the dialled node's place, over TCP nothing comes",
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'before');
    const site = t.lab.topology.sites.find((each) => each.name === t.lab.node('worker-b').site);
    await t.withoutAgents(async () => {
      await t.host('worker-b').exec(['ip', 'rule', 'del', 'pref', '102']);
      for (const client of t.clients()) {
        const isPublic = t.lab.publicAddress(client) === client.address;
        const result = await t.exchange(client, target('UDP'), { timeoutMs: t.silenceMs, note: 'no divert rule' });
        if (isPublic) {
          t.record.same(
            'assertion',
            `${client.name} UDP: the answer comes from the home router`,
            site?.router ?? '',
            result.from,
          );
        } else {
          // Its own router lets in nothing from an address it has not dialled.
          t.record.same(
            'negative',
            `${client.name} UDP: the client's router drops the foreign answer`,
            'timeout',
            result.outcome,
          );
        }
        await t.silent(client, target('TCP'), 'no divert rule, no answer');
      }
    });
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'restored');
  },
});
