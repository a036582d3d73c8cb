import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho, multiClass, secondEdge } from '../echo-pod.ts';
import { linksOf } from '../links.ts';

const otherPort = 3300;

export default scenario({
  sentence:
    'Two classes over the same nodes, each with its own VNI and subnet and both at slot 0, have links, marks and tables of their own on the pod node, and each reply takes its own way',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await t.portMapClass({ ...multiClass, name: 'intranet', vxlan: { vni: 4300, subnet: '169.254.79.0/24' } });
    for (const { name, protocol } of echoPorts) {
      await t.portMap({
        ...{ name: `intranet-${name}`, className: 'intranet', protocol, port: otherPort },
        serviceRef: { name: 'echo', port: name },
      });
      await t.programmed(`intranet-${name}`, pod);
    }
    await echoDelivers(t, pod);
    const dialled = [
      { address: edge.address, port: echoPort },
      { address: edge.address, port: otherPort },
      { address: secondEdge.address, port: otherPort },
    ];
    for (const to of dialled) {
      for (const client of t.clients()) {
        for (const protocol of bothProtocols) await t.awaitDelivery(client, { protocol, ...to }, pod);
      }
    }
    for (let round = 0; round < 2; round++) {
      for (const client of t.clients()) {
        for (const protocol of bothProtocols)
          for (const to of dialled) await t.delivers(client, { protocol, ...to }, pod);
      }
    }
    const worker = t.host('worker-b');
    t.record.same('assertion', 'links on worker-b', 3, (await linksOf(worker)).length);
    const { stdout } = await worker.exec(['ip', '-d', 'rule', 'show', 'pref', '102']);
    const marks = new Set(stdout.match(/fwmark 0x[0-9a-f]+/g));
    const tables = new Set(stdout.match(/lookup \d+/g));
    t.record.same('assertion', 'marks and tables on worker-b', '3 3', `${marks.size} ${tables.size}`);
  },
});
