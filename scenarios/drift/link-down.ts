import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';
import { edge } from '../echo-pod.ts';

export default scenario({
  sentence: 'A link that is set down is up again within a second, with the route that went with it, on either end',
  async run(t) {
    const { pod, links } = await deliverOverLink(t);
    await isPutBack(t, pod, 'worker-b', `ip link set ${links.podSide} down`);
    await isPutBack(t, pod, edge.name, `ip link set ${links.accepting} down`);
  },
});
