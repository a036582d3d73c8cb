import { bothProtocols } from '../../lab/scenario/context.ts';
import { condition } from '../../lab/scenario/kuport-objects.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoPort, echoPorts, edgeClass, mapEcho, target } from '../echo-pod.ts';

const controlPort = 3100;

export default scenario({
  sentence:
    'Without return path, a mapping whose pod is on another node is refused whole: no rule on any node, and the status says why',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t, { ...edgeClass, name: 'closed', returnPath: 'None' });
    for (const { name } of echoPorts) {
      const object = await t.conditionOf(name, 'Programmed', 'False', 'ReturnPathUnavailable');
      const { message = '' } = condition(object, 'Programmed') ?? {};
      t.record.check(
        'assertion',
        `${name}: the message names the pod's node and the class`,
        'worker-b, closed',
        message,
        message.includes('worker-b') && message.includes('closed'),
      );
      t.record.same('assertion', `${name}: published addresses`, '', object.status?.addresses ?? '');
    }
    for (const { name } of t.lab.topology.nodes) {
      const { stdout } = await t.host(name).exec(['nft', 'list', 'tables']);
      t.record.check(
        'assertion',
        `${name} holds no table of kuport's`,
        'no table ip kuport',
        stdout.trim().replaceAll('\n', ', '),
        !stdout.includes('table ip kuport'),
      );
    }
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) {
        const result = await t.exchange(client, target(protocol), { timeoutMs: t.silenceMs, note: 'refused mapping' });
        t.record.same(
          'negative',
          `${client.name} ${protocol} ${echoPort}: the port is closed`,
          protocol === 'TCP' ? 'refused' : 'timeout',
          result.outcome,
        );
      }
    }
    // The same pod from the same clients, through a class that has a return path: the silence above was the refusal's.
    await t.portMapClass(edgeClass);
    for (const { name, protocol } of echoPorts) {
      await t.portMap({
        name: `open-${name}`,
        className: edgeClass.name,
        protocol,
        port: controlPort,
        serviceRef: { name: 'echo', port: name },
      });
      await t.programmed(`open-${name}`, pod);
      for (const client of t.clients()) {
        await t.awaitDelivery(client, target(protocol, controlPort), pod);
        await t.control(client, target(protocol, controlPort), pod, 'the same pod through class public');
      }
    }
  },
});
