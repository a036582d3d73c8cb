import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoPort, edgeClass, target } from '../echo-pod.ts';

const worker = 'worker-b';

export default scenario({
  sentence:
    "A pod on its node's own network is served too: what the node itself sends, answers and refusals, goes back over the link",
  async run(t) {
    const host = t.host(worker);
    const { meshAddress } = t.lab.node(worker);
    const servers = new Map<string, number>();
    for (const protocol of bothProtocols) {
      const request = { protocol, address: meshAddress, port: echoPort, pod: 'on-the-host', node: worker };
      const { server } = await host.station.request('echoStart', request);
      servers.set(protocol, server);
    }
    t.defer('responders', async () => {
      for (const server of servers.values()) await host.station.request('echoStop', { server });
    });
    const ports = bothProtocols.map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: echoPort }));
    const { namespace } = t;
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { namespace, name: 'host-1', labels: { 'kubernetes.io/service-name': 'host' } },
      addressType: 'IPv4',
      ports,
      endpoints: [
        { addresses: [meshAddress], nodeName: worker, targetRef: { kind: 'Pod', name: 'on-the-host', namespace } },
      ],
    };
    await t.lab.cluster.apply(slice);
    t.defer('EndpointSlice', () => t.lab.cluster.delete('discovery.k8s.io/v1', 'EndpointSlice', 'host-1', namespace));
    await t.portMapClass(edgeClass);
    for (const { name, protocol } of ports) {
      const serviceRef = { name: 'host', port: name };
      await t.portMap({ name, className: edgeClass.name, protocol, port: echoPort, serviceRef });
      await t.conditionOf(name, 'Programmed', 'True');
    }
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) {
        const result = await t.exchange(client, target(protocol));
        const title = `${client.name} ${protocol}`;
        t.record.same('assertion', `${title}: the answer comes from`, target(protocol).address, result.from);
        t.record.same(
          'assertion',
          `${title}: the pod saw`,
          t.lab.publicAddress(client),
          result.reply?.peer ?? result.outcome,
        );
      }
    }
    await host.station.request('echoStop', { server: servers.get('UDP') ?? 0 });
    servers.delete('UDP');
    for (const client of t.clients()) {
      const result = await t.exchange(client, target('UDP'), {
        connected: true,
        note: 'closed port of the node itself',
      });
      t.record.same(
        'assertion',
        `${client.name} UDP: the node's own refusal reaches the client`,
        'refused',
        result.outcome,
      );
    }
  },
});
