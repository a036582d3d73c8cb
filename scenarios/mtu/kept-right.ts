import type { ScenarioContext } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { waitFor } from '../../lab/wait.ts';
import { bulkBothWays } from '../bulk.ts';
import { deliverOverLink } from '../damage.ts';
import { edge } from '../echo-pod.ts';

const encapsulation = 50;

/** Until both ends have heard of each other's underlay, in milliseconds. */
const agreeMs = 3000;

async function mtuOf(t: ScenarioContext, node: string, device: string): Promise<number> {
  const { stdout } = await t.host(node).exec(['cat', `/sys/class/net/${device}/mtu`]);
  return Number(stdout);
}

interface ClassStatus {
  status?: { nodes?: { name: string; underlayMTU?: number; linkMTU?: number }[] };
}

export default scenario({
  sentence:
    'Both ends of a link have the smaller underlay less 50 bytes without asking each other, in the class status too, and follow an underlay that changes',
  timeoutMs: 60_000,
  async run(t) {
    const { pod, links } = await deliverOverLink(t);
    const underlay = t.lab.topology.mesh.interface;
    const agree = async (smaller: number, note: string): Promise<void> => {
      const want = smaller - encapsulation;
      const ends = await waitFor(
        `both ends of the link to have MTU ${want}`,
        async () => {
          const found = await Promise.all([mtuOf(t, edge.name, links.accepting), mtuOf(t, 'worker-b', links.podSide)]);
          if (found.every((each) => each === want)) return found;
          throw new Error(`they have ${found.join(' and ')}`);
        },
        { timeoutMs: t.pace.time(agreeMs) },
      );
      t.record.same('assertion', `${note}: MTU of the link's two ends`, `${want} ${want}`, ends.join(' '));
      const { status } = await t.lab.cluster.get<ClassStatus>('kuport.wlz.li/v1alpha1', 'PortMapClass', 'public');
      for (const node of [edge.name, 'worker-b']) {
        const row = status?.nodes?.find((each) => each.name === node);
        const own = await mtuOf(t, node, underlay);
        t.record.same('assertion', `${note}: ${node} reports its underlay`, own, row?.underlayMTU ?? null);
        t.record.same('assertion', `${note}: ${node} reports its link`, own - encapsulation, row?.linkMTU ?? null);
      }
      await bulkBothWays(t, pod, note);
    };
    const set = async (node: string, mtu: number): Promise<void> => {
      await t.host(node).exec(['ip', 'link', 'set', underlay, 'mtu', String(mtu)]);
    };
    const normal = await mtuOf(t, edge.name, underlay);
    for (const node of [edge.name, 'worker-b']) t.defer(`MTU of ${node}`, () => set(node, normal));
    await agree(normal, 'as set up');
    await set('worker-b', normal - 60);
    await agree(normal - 60, "the pod node's underlay smaller");
    await set(edge.name, normal - 100);
    await agree(normal - 100, "the accepting node's smaller still");
    await set('worker-b', normal);
    await set(edge.name, normal);
    await agree(normal, 'as before again');
  },
});
