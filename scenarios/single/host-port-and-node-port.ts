import { kubeProxyServices } from '../../lab/neighbours/kube-proxy.ts';
import { applyHostSetup } from '../../lab/network/host-setup.ts';
import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, mapEcho } from '../echo-pod.ts';
import { reaches } from '../other-ways.ts';
import { proveDelivery } from '../prove-delivery.ts';

const worker = 'worker-b';
const hostPort = 8300;
const nodePort = 30_300;

export default scenario({
  sentence:
    "Clients of a mapping's pod by its hostPort or its Service's nodePort are answered from the address they dialled, while the mapping serves others on the same port of the pod",
  async run(t) {
    const pod = await t.pod({ node: worker, ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    const host = t.host(worker);
    const clusterCidr = t.lab.topology.pods.cidr;
    const services = bothProtocols.map((protocol) => ({
      ...{ namespace: t.namespace, name: 'echo', portName: protocol.toLowerCase(), protocol, nodePort },
      ...{ clusterAddress: '10.96.30.31', port: echoPort },
      endpoints: [{ address: pod.record.address, port: echoPort }],
    }));
    t.defer('Services', () => applyHostSetup(host, kubeProxyServices([], { clusterCidr, previous: services })));
    await applyHostSetup(host, kubeProxyServices(services, { clusterCidr }));
    await host.exec(['nft', '-f', '-'], {
      input: `table ip lab-hostport {
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
    fib daddr type local meta l4proto { tcp, udp } th dport ${hostPort} dnat ip to ${pod.record.address}:${echoPort}
  }
}
`,
    });
    t.defer('hostPort', () => host.exec(['nft', 'delete', 'table', 'ip', 'lab-hostport']));
    const { meshAddress, address: lanAddress } = t.lab.node(worker);
    const router = t.host('router-home-b');
    // From the mesh, and from the LAN, where replies leave by another device.
    const edge = t.lab.node('edge-a');
    for (const protocol of bothProtocols) {
      const callers = [
        { caller: { host: t.host(edge.name), address: edge.meshAddress, seen: edge.meshAddress }, at: meshAddress },
        { caller: { host: router, address: '192.168.1.1', seen: '192.168.1.1' }, at: lanAddress },
      ];
      for (const { caller, at } of callers) {
        await reaches(t, caller, { protocol, address: at, port: hostPort }, pod, 'hostPort');
        const masqueraded = { ...caller, seen: t.lab.nodes.get(worker)?.routerAddress ?? '' };
        await reaches(t, masqueraded, { protocol, address: at, port: nodePort }, pod, 'nodePort');
      }
    }
    await proveDelivery(t, pod, 'and the mapping');
  },
});
