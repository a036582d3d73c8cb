import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, edge, mapEcho, target } from '../echo-pod.ts';
import { proveDelivery } from '../prove-delivery.ts';

/** Source port of the flow that is there before the table is full. */
const earlyPort = 40_001;

/** The kernel may only throw out entries that have not been answered for 2 s: wait until the early one has. Milliseconds. */
const untilAssuredMs = 2500;

const maximum = 'net.netfilter.nf_conntrack_max';

export default scenario({
  sentence:
    'A full conntrack table on the accepting node turns new clients away and leaves those it knows alone; with room again, new ones come in',
  ownKernels: [edge.name],
  timeoutMs: 60_000,
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    const [client] = t.clients();
    if (client === undefined) throw new Error('no client');
    const node = t.host(edge.name);
    const early = { sourcePort: earlyPort };
    const begin = Date.now();
    while (Date.now() - begin < untilAssuredMs) await t.delivers(client, target('UDP'), pod, early);
    const { stdout: before } = await node.exec(['sysctl', '-n', maximum]);
    const set = (value: string): Promise<unknown> => node.exec(['sysctl', '-q', '-w', `${maximum}=${value}`]);
    t.defer('conntrack table', () => set(before.trim()));
    await set('1');
    await t.delivers(client, target('UDP'), pod, { ...early, note: 'known to the full table' });
    const refused = await t.exchange(client, target('UDP'), {
      sourcePort: earlyPort + 100,
      timeoutMs: t.silenceMs,
      note: 'new to the full table',
    });
    t.record.same('negative', 'a client that the full table does not know', 'timeout', refused.outcome);
    const { stdout } = await node.exec(['sh', '-c', "conntrack -S | sed -n 's/.* drop=\\([0-9]*\\).*/\\1/p'"]);
    const dropped = stdout.split('\n').reduce((sum, line) => sum + Number(line), 0);
    t.record.check('assertion', `${edge.name} counts it as dropped`, 'more than 0', dropped, dropped > 0);
    await set(before.trim());
    await proveDelivery(t, pod, 'with room again');
  },
});
