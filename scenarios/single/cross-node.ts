import { bothProtocols } from '../../lab/scenario/context.ts';
import { scenario } from '../../lab/scenario/scenario.ts';
import { echoDelivers, echoPorts, mapEcho, target } from '../echo-pod.ts';
import { onlyLink } from '../links.ts';

export default scenario({
  sentence: 'A pod behind a home router sees the real client, and the answer comes from the address the client dialled',
  async run(t) {
    const pod = await t.pod({ node: 'worker-b', ports: echoPorts });
    await mapEcho(t);
    await echoDelivers(t, pod);
    const link = await onlyLink(t.host('worker-b'));
    const capture = await t.capture('worker-b', link, 'udp port 3000');
    for (const client of t.clients()) {
      for (const protocol of bothProtocols) {
        await t.delivers(client, target(protocol), pod);
        await t.delivers(client, target(protocol), pod, { size: 4000, replySize: 4000, note: '4000 bytes both ways' });
      }
    }
    await capture.stop();
    const packets = await capture.read();
    const [client] = t.clients();
    const source = client === undefined ? '' : t.lab.publicAddress(client);
    const request = packets.find((packet) => packet.startsWith(`IP ${source}.`)) ?? '';
    // The far end's own address is what the accepting node dials and what the reply comes from: 169.254.77.1, slot 0.
    t.record.check(
      'assertion',
      'a request on the link: from the client, to the link end',
      `${source} > 169.254.77.1.3000`,
      request,
      request.includes(' > 169.254.77.1.3000'),
    );
    const reply = packets.find((packet) => packet.includes(`> ${source}.`)) ?? '';
    t.record.check(
      'assertion',
      'a reply on the link: from the link end, not from the pod',
      `169.254.77.1.3000 > ${source}`,
      reply,
      reply.startsWith('IP 169.254.77.1.3000 > '),
    );
  },
});
