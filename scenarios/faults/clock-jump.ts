import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPort, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

/** As an hour of a wrong time zone, or a board without a clock that finds its time server. Seconds. */
const jump = 3600;

export default scenario({
  sentence:
    'A clock that jumps an hour ahead and back on both nodes interrupts nothing, and what is mapped in between is programmed',
  ownKernels: [edge.name, 'worker-b'],
  timeoutMs: 60_000,
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    await proveDelivery(t, pod, 'before');
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    const nodes = [edge.name, 'worker-b'].map((name) => t.host(name));
    const move = (seconds: number): Promise<unknown> =>
      Promise.all(nodes.map((node) => node.exec(['sh', '-c', `date -s @$(($(date +%s) + ${seconds}))`])));
    let ahead = 0;
    t.defer('clocks', () => move(-ahead));
    for (const seconds of [jump, -jump]) {
      const way = seconds > 0 ? 'ahead' : 'back';
      await move(seconds);
      ahead += seconds;
      const [clock] = await Promise.all(nodes.map((node) => node.exec(['date', '+%s'])));
      const seen = Number(clock?.stdout) - Date.now() / 1000;
      t.record.check(
        'positive control',
        `the clock of ${edge.name} has jumped ${way}`,
        `${ahead} s ahead`,
        `${seen.toFixed(1)} s ahead`,
        Math.abs(seen - ahead) < 60,
      );
      await proveDelivery(t, pod, `clocks an hour ${way}`);
      const name = `clock-${way}`;
      const port = echoPort + (seconds > 0 ? 1 : 2);
      await t.portMap({
        name,
        className: 'public',
        protocol: 'UDP',
        port,
        serviceRef: { name: 'echo', port: 'echo-udp' },
      });
      await t.programmed(name, pod);
      await t.awaitDelivery(client, target('UDP', port), pod);
      await t.delivers(client, target('UDP', port), pod);
    }
  },
});
