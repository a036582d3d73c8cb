import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';
import { echoPort, edge } from '../echo-pod.ts';

export default scenario({
  sentence:
    'Elements of sets and maps that somebody deletes by hand are put back within a second: the kernel tells of them too',
  async run(t) {
    const { pod } = await deliverOverLink(t);
    const damages: [string, string][] = [
      [edge.name, `nft delete element ip kuport ports '{ "${edge.interface}" . udp . ${echoPort} }'`],
      [edge.name, 'nft flush set ip kuport requests'],
      ['worker-b', 'nft flush map ip kuport ports'],
      ['worker-b', 'nft flush map ip kuport link-marks'],
      ['worker-b', 'nft flush set ip kuport dialled-udp'],
    ];
    for (const [node, command] of damages) await isPutBack(t, pod, node, command);
  },
});
