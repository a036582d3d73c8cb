import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';
import { edge } from '../echo-pod.ts';

/** Those that iptables can save are its own; `ip mangle` and the like are not repeated. */
const eachForeignTable = `
  nft list tables | grep -vE '^table ip6? (filter|nat|mangle|raw|security|kuport)$' | while read word family name; do
    nft list table $family $name > /run/others/$family-$name.nft
  done`;

export default scenario({
  sentence:
    "A flushed ruleset, as firewalld leaves it on a reload, is put back within a second, on the accepting node and on the pod's",
  async run(t) {
    const { pod } = await deliverOverLink(t);
    for (const node of [edge.name, 'worker-b']) {
      // What was others', others put back: here the scenario, each table with the tool that made it.
      const save = 'mkdir -p /run/others; iptables-save > /run/others/iptables';
      await t.host(node).exec(['sh', '-c', `${save}; ${eachForeignTable}`]);
      const restore = (): Promise<unknown> =>
        t
          .host(node)
          .exec([
            'sh',
            '-ec',
            '[ -d /run/others ] || exit 0; cd /run/others; iptables-restore < iptables; for each in *.nft; do nft -f $each; done; rm -r /run/others',
          ]);
      t.defer(`others' tables on ${node}`, restore);
      await isPutBack(t, pod, node, 'nft flush ruleset', { others: restore });
    }
  },
});
