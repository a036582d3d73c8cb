import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

export default scenario({
  sentence:
    'A scale-up moves nobody: a new pod that would have been chosen first leaves the mapping where it is until the old one goes, then it takes over',
  async run(t) {
    const old = await t.pod({ node: 'worker-b', name: 'm-old', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, old);
    await proveDelivery(t, old, 'one pod');
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    const { station } = t.host(client.name);
    const { flow } = await station.request('flowStart', { ...target('UDP'), perSecond: 50 });
    const fresh = await t.pod({ node: 'worker-c', name: 'a-new', ports: echoPorts });
    // A pass of each agent, and more.
    for (const each of t.clients()) for (let n = 0; n < 5; n++) await t.delivers(each, target('UDP'), old);
    const report = await station.request('flowStop', { flow });
    t.record.same('assertion', 'requests lost by the scale-up', 0, report.lost);
    t.record.same('assertion', 'answered by', old.record.name, Object.keys(report.pods).join(', '));
    await t.programmed('echo-udp', old);
    await t.lab.workload.stopPod(old);
    await echoDelivers(t, fresh);
    await proveDelivery(t, fresh, 'the old one is gone');
  },
});
