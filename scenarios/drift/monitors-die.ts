import { scenario } from '../../lab/scenario/scenario.ts';
import { deliverOverLink, isPutBack } from '../damage.ts';
import { edge } from '../echo-pod.ts';
import { silence } from '../udp-flow.ts';

/** From a resync to the next, and what a repair may take, in milliseconds. */
const resyncMs = 31_000;

export default scenario({
  sentence:
    'A kernel monitor that dies is started again and what it missed is put back; one that hangs costs the wait until the next resync, no more',
  timeoutMs: 90_000,
  async run(t) {
    const { pod } = await deliverOverLink(t);
    const agent = t.lab.agents.pids[edge.name];
    const signal = (name: string): string => `pkill -${name} -P ${agent} -f ' monitor '`;
    await isPutBack(t, pod, edge.name, `${signal('KILL')}; nft delete table ip kuport`);
    const host = t.host(edge.name);
    // A new monitor is followed by looks of its own.
    await silence(t.pace.time(2000));
    await host.exec(['sh', '-c', signal('STOP')]);
    t.defer('monitors', () => host.exec(['sh', '-c', `${signal('CONT')} || true`]));
    await isPutBack(t, pod, edge.name, 'nft flush map ip kuport ports', { withinMs: resyncMs });
  },
});
