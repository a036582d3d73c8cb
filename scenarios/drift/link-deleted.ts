import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';
import { edge } from '../echo-pod.ts';

export default scenario({
  sentence:
    'A deleted link is there again within a second, on either end, and the other end goes on as if nothing had been',
  async run(t) {
    const { pod, links } = await deliverOverLink(t);
    await isPutBack(t, pod, edge.name, `ip link del ${links.accepting}`);
    await isPutBack(t, pod, 'worker-b', `ip link del ${links.podSide}`);
  },
});
