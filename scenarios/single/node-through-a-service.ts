import { kubeProxyServices } from '../../lab/neighbours/kube-proxy.ts';
import { applyHostSetup } from '../../lab/network/host-setup.ts';
import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho } from '../echo-pod.ts';
import { reaches } from '../other-ways.ts';
import { proveDelivery } from '../prove-delivery.ts';

const clusterAddress = '10.96.30.30';

export default scenario({
  sentence:
    "A node that calls a mapping's pod through its Service, on its own node or from the accepting one, is answered from the Service's address as ever",
  async run(t) {
    const clusterCidr = t.lab.topology.pods.cidr;
    await mapEcho(t);
    for (const node of ['worker-b', edge.name]) {
      const pod = await t.pod({ node, name: `on-${node}`, ports: echoPorts });
      await echoDelivers(t, pod);
      const services = bothProtocols.map((protocol) => ({
        ...{
          namespace: t.namespace,
          name: 'echo',
          portName: protocol.toLowerCase(),
          protocol,
          clusterAddress,
          port: echoPort,
        },
        endpoints: [{ address: pod.record.address, port: echoPort }],
      }));
      for (const caller of [node]) {
        const host = t.host(caller);
        t.defer(`Services of ${caller}`, () =>
          applyHostSetup(host, kubeProxyServices([], { clusterCidr, previous: services })),
        );
        await applyHostSetup(host, kubeProxyServices(services, { clusterCidr }));
        const router = t.lab.nodes.get(caller)?.routerAddress ?? '';
        for (const protocol of bothProtocols) {
          const to = { protocol, address: clusterAddress, port: echoPort };
          await reaches(t, { host, address: router, seen: router }, to, pod, `${caller} by the Service`);
        }
      }
      await proveDelivery(t, pod, 'and the mapping');
      await t.lab.workload.stopPod(pod);
    }
  },
});
