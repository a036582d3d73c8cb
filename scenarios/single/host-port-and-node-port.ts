import { kubeProxyServices } from '../../lab/neighbours/kube-proxy.ts';
import { applyHostSetup } from '../../lab/network/host-setup.ts';
import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho } from '../echo-pod.ts';
import { reaches } from '../other-ways.ts';
import { proveDelivery } from '../prove-delivery.ts';

const hostPort = 8300;
const nodePort = 30_300;

export default scenario({
  sentence:
    "Clients of a mapping's pod by its hostPort or its Service's nodePort are answered from the address they dialled, while the mapping serves others on the same port of the pod",
  async run(t) {
    await mapEcho(t);
    const clusterCidr = t.lab.topology.pods.cidr;
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    const places = [
      // From the LAN of the pod's node, where replies must not take the link's way.
      {
        node: 'worker-b',
        at: t.lab.node('worker-b').address,
        caller: { host: t.host('router-home-b'), address: '192.168.1.1' },
      },
      { node: edge.name, at: edge.address, caller: { host: t.host(client.name), address: client.address } },
    ];
    for (const { node, at, caller } of places) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts });
      await echoDelivers(t, pod);
      const host = t.host(node);
      const services = bothProtocols.map((protocol) => ({
        ...{ namespace: t.namespace, name: 'echo', portName: protocol.toLowerCase(), protocol, nodePort },
        ...{ clusterAddress: '10.96.30.31', port: echoPort },
        endpoints: [{ address: pod.record.address, port: echoPort }],
      }));
      t.defer(`Services of ${node}`, () =>
        applyHostSetup(host, kubeProxyServices([], { clusterCidr, previous: services })),
      );
      await applyHostSetup(host, kubeProxyServices(services, { clusterCidr }));
      await host.exec(['nft', '-f', '-'], { input: hostPortTable(pod.record.address) });
      t.defer(`hostPort of ${node}`, () => host.exec(['nft', 'delete', 'table', 'ip', 'lab-hostport']));
      const router = t.lab.nodes.get(node)?.routerAddress ?? '';
      for (const protocol of bothProtocols) {
        const kept = { ...caller, seen: caller.address };
        await reaches(t, kept, { protocol, address: at, port: hostPort }, pod, 'hostPort');
        await reaches(t, { ...caller, seen: router }, { protocol, address: at, port: nodePort }, pod, 'nodePort');
      }
      await proveDelivery(t, pod, 'and the mapping');
      await t.lab.workload.stopPod(pod);
    }
  },
});

/** As the portmap plugin does it: the client's address stays. */
function hostPortTable(pod: string): string {
  return `table ip lab-hostport {
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
    fib daddr type local meta l4proto { tcp, udp } th dport ${hostPort} dnat ip to ${pod}:${echoPort}
  }
}
`;
}
