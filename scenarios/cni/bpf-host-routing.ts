import { bpfHostRouting } from '../../lab/cni/node.ts';
import { parseConntrack } from '../../lab/evidence/conntrack-entries.ts';
import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

export default scenario({
  sentence:
    "Where the CNI's eBPF sends replies past the host's stack no mapping can work: requests are translated and counted, replies leave bare, and the conntrack entry stays unreplied",
  async run(t) {
    const pod = await t.pod({ node: edge.name, ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'legacy host routing');
    const host = t.host(edge.name);
    const cni = t.lab.nodes.get(edge.name);
    if (cni === undefined) throw new Error(`no node ${edge.name}`);
    const restore = () => host.exec(['nft', 'flush', 'chain', 'netdev', 'cilium', 'leave-by-bpf']);
    t.defer('legacy host routing', restore);
    await host.exec(['nft', '-f', '-'], {
      input: bpfHostRouting(cni)
        .map((rule) => `add rule netdev cilium leave-by-bpf ${rule}\n`)
        .join(''),
    });
    const moved = await t.moved('BPF host routing', [edge.name], async () => {
      for (const client of t.clients()) {
        for (const protocol of bothProtocols) await t.silent(client, target(protocol), 'BPF host routing, no answer');
      }
    });
    const translated = moved.packets(edge.name, 'echo-udp') + moved.packets(edge.name, 'echo-tcp');
    t.record.check('assertion', 'requests are translated all the same', 'at least 4', translated, translated >= 4);
    const { stdout } = await host.exec([
      'conntrack',
      '-L',
      '-o',
      'extended',
      '-p',
      'udp',
      '--orig-port-dst',
      String(echoPort),
    ]);
    const entries = parseConntrack(stdout).filter(
      (entry) => entry.original.destination === edge.address && entry.unreplied,
    );
    t.record.check(
      'assertion',
      'conntrack shows the new UDP flows unreplied',
      'at least 2',
      entries.length,
      entries.length >= 2,
    );
    await restore();
    await proveDelivery(t, pod, 'legacy host routing again');
  },
});
