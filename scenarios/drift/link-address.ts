import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';
import { edge } from '../echo-pod.ts';

export default scenario({
  sentence: 'The address of a link is put back within a second when it was removed, and another that was added goes',
  async run(t) {
    const { pod, links } = await deliverOverLink(t);
    await isPutBack(t, pod, 'worker-b', `ip addr flush dev ${links.podSide}`);
    await isPutBack(t, pod, edge.name, `ip addr flush dev ${links.accepting}`);
    await isPutBack(t, pod, 'worker-b', `ip addr add 169.254.99.1/32 dev ${links.podSide}`);
  },
});
