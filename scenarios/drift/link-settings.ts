import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';
import { edge } from '../echo-pod.ts';

export default scenario({
  sentence: 'A link whose MTU or reverse path filter somebody changes is as it was within a second',
  async run(t) {
    const { pod, links } = await deliverOverLink(t);
    await isPutBack(t, pod, 'worker-b', `ip link set ${links.podSide} mtu 1200`);
    await isPutBack(t, pod, edge.name, `ip link set ${links.accepting} mtu 1500`);
  },
});
