import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';

export default scenario({
  sentence:
    "Deleted ip rules are put back within a second: one of the two, both, or all that are not the kernel's own, as systemd-networkd does",
  async run(t) {
    const { pod } = await deliverOverLink(t);
    for (const command of [
      'ip rule del pref 101',
      'ip rule del pref 102',
      'ip rule del pref 101; ip rule del pref 102',
      // All that are not of protocol kernel, without those of others, who would have to mend them.
      'ip rule flush protocol 107',
    ])
      await isPutBack(t, pod, 'worker-b', command);
  },
});
