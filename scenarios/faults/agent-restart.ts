import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';

/** Requests per second over each protocol, in namespaces. */
const fullRate = 100;

export default scenario({
  sentence:
    'Agents that are killed, are gone for a while and come back lose no packet of a steady flow, and change nothing on their nodes',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    const { station } = t.host(client.name);
    // As many as slower machines answer without losing any when nothing happens.
    const perSecond = Math.max(5, Math.round(fullRate / t.pace.factor));
    const flows = await Promise.all(
      bothProtocols.map(async (protocol) => ({
        protocol,
        ...(await station.request('flowStart', { ...target(protocol), perSecond, answerMs: t.pace.packets(1000) })),
      })),
    );
    // Should the scenario end early: the next one must not share the lab with these.
    for (const { flow } of flows) t.defer('flow', () => station.request('flowStop', { flow }).catch(() => undefined));
    const involved = [edge.name, 'worker-b'];
    const rules = (): Promise<string[]> =>
      Promise.all(
        involved.map(
          async (node) =>
            (
              await t
                .host(node)
                .exec([
                  'sh',
                  '-c',
                  "nft -a list table ip kuport | sed '/set remote-clients {/,/^\t}/d' | sed 's/counter packets [0-9]* bytes [0-9]*//'; ip -d link show type vxlan; ip rule",
                ])
            ).stdout,
        ),
      );
    const before = await rules();
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      for (const node of involved) await t.lab.agents.stop(node, signal);
      await t.control(client, target('UDP'), pod, `both agents gone (${signal})`);
      for (const node of involved) await t.lab.agents.restart(node);
      await t.lab.agents.ready(t.pace.time(10_000));
    }
    for (const { protocol, flow } of flows) {
      const report = await station.request('flowStop', { flow });
      t.record.check(
        'assertion',
        `${protocol}: lost of ${report.sent} requests`,
        0,
        report.lost,
        report.lost === 0 && report.sent >= perSecond / 2,
      );
      t.record.same('assertion', `${protocol}: answers from another address`, 0, report.foreign);
      t.record.same(
        'assertion',
        `${protocol}: the pod saw only`,
        `${t.lab.publicAddress(client)}:${report.sourcePort}`,
        Object.keys(report.peers).join(', '),
      );
    }
    t.record.check(
      'assertion',
      'rules, handles, links and ip rules are the same as before',
      'unchanged',
      'compared on both nodes',
      (await rules()).join() === before.join(),
    );
  },
});
