import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';
import { edge } from '../echo-pod.ts';

export default scenario({
  sentence: 'A flushed chain is put back within a second, whichever it is',
  async run(t) {
    const { pod } = await deliverOverLink(t);
    for (const chain of ['kup-pre', 'kup-mangle', 'kup-output', 'kup-post'])
      await isPutBack(t, pod, 'worker-b', `nft flush chain ip kuport ${chain}`);
    await isPutBack(t, pod, edge.name, 'nft flush chain ip kuport kup-pre');
  },
});
