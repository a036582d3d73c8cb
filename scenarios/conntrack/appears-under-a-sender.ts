import { scenario } from '../../lab/scenario/scenario.ts';
import { echoPorts, edge, mapEcho } from '../echo-pod.ts';
import { send, sendUntil } from '../steady-sender.ts';

const sourcePort = 41_200;
const appearsMs = 1000;

export default scenario({
  sentence:
    'A client that was sending to the port before the mapping existed, and goes on from the same port, is served within a second of the mapping being programmed',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    const clients = t.clients();
    // Packets that nobody refuses make an entry all the same, and each one keeps it.
    const edgeHost = t.host(edge.name);
    await edgeHost.exec(['nft', '-f', '-'], {
      input:
        'table ip lab-mute { chain out { type filter hook output priority 0; icmp type destination-unreachable drop; }; }\n',
    });
    t.defer('mute', () => edgeHost.exec(['nft', 'delete', 'table', 'ip', 'lab-mute']));
    for (const client of clients) {
      for (let n = 0; n < 3; n++) {
        const { outcome } = await send(t, client, sourcePort, 'no mapping yet');
        t.record.same('positive control', `${client.name}: nobody there yet`, 'timeout', outcome);
      }
    }
    const { stdout } = await edgeHost.exec([
      'sh',
      '-c',
      `conntrack -L -p udp --orig-port-dst 3000 2>/dev/null | grep -c 'src=.* dst=${edge.address} ' || true`,
    ]);
    t.record.check(
      'positive control',
      `${edge.name}: entries of them before the mapping`,
      clients.length,
      Number(stdout),
      Number(stdout) >= clients.length,
    );
    await mapEcho(t);
    await t.programmed('echo-udp', pod);
    const took = await Promise.all(
      clients.map((client) =>
        sendUntil(t, client, sourcePort, {
          note: 'the mapping is there',
          forMs: t.pace.time(appearsMs) * 3,
          until: ({ outcome, reply }) => outcome === 'answered' && reply?.peer === t.lab.publicAddress(client),
        }),
      ),
    );
    took.forEach((each, index) => {
      t.record.check(
        'assertion',
        `${clients[index]?.name}: served from the port it sent from all along`,
        `within ${t.pace.time(appearsMs)} ms`,
        each === null ? 'not at all' : `${each} ms`,
        each !== null && each <= t.pace.time(appearsMs),
      );
    });
  },
});
