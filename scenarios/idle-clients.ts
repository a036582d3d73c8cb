/** Pushes to clients that have been silent for longer than the host's conntrack remembers, with spec.idleTimeout and without. */
import type { ScenarioContext } from '../lab/scenario/context.ts';
import type { ClassRequest } from '../lab/scenario/kuport-objects.ts';
import type { PodPort } from '../lab/workload/objects.ts';
import type { Pod } from '../lab/workload/workload.ts';
import { edge, target } from './echo-pod.ts';
import { silence, UdpFlow } from './udp-flow.ts';

/** What the host remembers by itself, in seconds. */
const hostDefault = 2;
const idleTimeout = '30s';
const silenceMs = 6000;

/** One port of a pod behind two mappings: with idleTimeout and without. */
const podPort: PodPort = { name: 'game', protocol: 'UDP', port: 3000 };
const places = [
  { app: 'near', node: edge.name, patient: 3100, plain: 3101 },
  { app: 'far', node: 'worker-b', patient: 3200, plain: 3201 },
];

/** The nodes' own conntrack forgets UDP flows after two seconds until the scenario ends. */
export async function forgetSoon(t: ScenarioContext, nodes: readonly string[]): Promise<void> {
  const names = ['nf_conntrack_udp_timeout', 'nf_conntrack_udp_timeout_stream'];
  for (const node of nodes) {
    const set = (values: readonly string[]): Promise<unknown> =>
      t.host(node).exec(['sysctl', '-qw', ...names.map((name, index) => `net.netfilter.${name}=${values[index]}`)]);
    const { stdout } = await t.host(node).exec(['sysctl', '-n', ...names.map((name) => `net.netfilter.${name}`)]);
    t.defer(`conntrack timeouts of ${node}`, () => set(stdout.trim().split('\n')));
    await set(names.map(() => String(hostDefault)));
  }
}

interface IdleFlow {
  flow: UdpFlow;
  pod: Pod;
  isPatient: boolean;
}

/** @param addresses what clients dial: one for each accepting node */
export async function pushToIdleClients(
  t: ScenarioContext,
  portMapClass: ClassRequest,
  addresses: readonly string[],
): Promise<void> {
  await forgetSoon(t, [...Object.keys(portMapClass.nodes), 'worker-b']);
  await t.portMapClass(portMapClass);
  const flows: IdleFlow[] = [];
  for (const { app, node, patient, plain } of places) {
    const pod = await t.pod({ app, node, ports: [podPort] });
    await t.service(app, [podPort]);
    for (const [port, isPatient] of [
      [patient, true],
      [plain, false],
    ] as const) {
      const name = `${app}-${isPatient ? 'patient' : 'plain'}`;
      await t.portMap({
        ...{ name, className: portMapClass.name, protocol: 'UDP', port },
        ...(isPatient ? { idleTimeout } : {}),
        serviceRef: { name: app, port: podPort.name },
      });
      await t.programmed(name, pod);
      for (const client of t.clients()) {
        for (const address of addresses) {
          await t.awaitDelivery(client, { ...target('UDP', port), address }, pod);
          flows.push({ pod, isPatient, flow: await UdpFlow.open(t, client, { address, port }) });
        }
      }
    }
  }
  // Twice: conntrack takes a UDP flow for a stream, with another timeout, once it has lasted two seconds.
  for (let round = 0; round < 3; round++) {
    if (round > 0) await silence(1200);
    await Promise.all(
      flows.map(async ({ flow, pod }) => {
        const heard = await flow.ask();
        t.record.same(
          'positive control',
          `${flow.title}: asked and answered by`,
          pod.record.name,
          heard?.reply.pod ?? null,
        );
      }),
    );
  }
  await silence(silenceMs);
  const heard = await Promise.all(flows.map(({ flow, pod }) => flow.push(pod, podPort)));
  flows.forEach(({ flow, isPatient, pod }, index) => {
    const from = heard[index]?.from ?? 'nothing';
    const title = `${flow.title}: ${pod.record.name} pushes after ${silenceMs / 1000} s of silence`;
    if (isPatient)
      t.record.same(
        'assertion',
        `${title}, idleTimeout ${idleTimeout}: heard from`,
        `${flow.address}:${flow.port}`,
        from,
      );
    else
      t.record.check(
        'negative',
        `${title}, no idleTimeout: not heard from the dialled address`,
        `not ${flow.address}:${flow.port}`,
        from,
        from !== `${flow.address}:${flow.port}`,
      );
  });
}
