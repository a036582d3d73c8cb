import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';

export default scenario({
  sentence: 'A flushed routing table of a link is put back within a second',
  async run(t) {
    const { pod } = await deliverOverLink(t);
    await isPutBack(t, pod, 'worker-b', 'ip route flush table all proto 107');
  },
});
