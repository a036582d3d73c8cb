import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Delivery, NodePlan } from '../plan/node-plan.ts';
import { TestNamespace } from './testing/namespace.ts';
import { delivery, emptyPlan } from './testing/plans.ts';

let namespace: TestNamespace;

beforeEach(async () => {
  namespace = await TestNamespace.start();
  await namespace.addClient();
  await namespace.sh(
    'cd /proc/sys/net/netfilter && echo 2 > nf_conntrack_udp_timeout && echo 3 > nf_conntrack_udp_timeout_stream',
  );
});

afterEach(() => namespace.stop());

const plan = (...deliveries: Delivery[]): NodePlan => ({ ...emptyPlan, deliveries });

/** Seconds until the kernel forgets the flow to a port, after a datagram to it from a new socket. */
async function remembered(port: number): Promise<number> {
  await namespace.sh('conntrack -F 2>/dev/null');
  await namespace.sendFromClient(port);
  const listing = await namespace.sh(`conntrack -L -p udp --orig-port-dst ${port} 2>/dev/null | tail -1`);
  return Number(/^udp\s+17\s+(\d+)/.exec(listing)?.[1]);
}

test('new flows of a mapping get its timeout, others the default', async () => {
  await namespace.call(
    'apply',
    plan(
      delivery({ port: 3000, idleSeconds: 30 }),
      delivery({ port: 3001, idleSeconds: 604_800 }),
      delivery({ port: 3002 }),
      delivery({ portMap: 'games/range', port: 4000, endPort: 4010, idleSeconds: 30 }),
    ),
  );
  expect(await remembered(3000)).toBeGreaterThan(27);
  expect(await remembered(3001)).toBeGreaterThan(604_790);
  expect(await remembered(4005)).toBeGreaterThan(27);
  expect(await remembered(3002)).toBeLessThanOrEqual(2);
  expect(await remembered(3003)).toBeLessThanOrEqual(2);
});

test('a flow that was answered keeps it, over UDP and TCP', async () => {
  await namespace.call(
    'apply',
    plan(delivery({ port: 3000, idleSeconds: 60 }), delivery({ protocol: 'TCP', port: 3000, idleSeconds: 120 })),
  );
  const background = '> /dev/null 2>&1 &';
  await namespace.sh(`node -e "
    const udp = require('dgram').createSocket('udp4');
    udp.on('message', (text, from) => udp.send(text, from.port, from.address)).bind(3000, '10.244.1.7');
    require('net').createServer((each) => each.pipe(each)).listen(3000, '10.244.1.7');" ${background}`);
  // The kernel takes a UDP flow for a stream once it has lasted two seconds; both go silent after that.
  await namespace.sh(`ip netns exec client node -e "
    const udp = require('dgram').createSocket('udp4');
    const asking = setInterval(() => udp.send('x', 3000, '203.0.113.9'), 300);
    setTimeout(() => clearInterval(asking), 3000);
    setTimeout(() => require('net').connect(3000, '203.0.113.9').write('x'), 1000);" ${background}
    sleep 4`);
  const listing = await namespace.sh('conntrack -L 2>/dev/null');
  const seconds = (protocol: string): number =>
    Number(new RegExp(`^${protocol}\\s+\\d+\\s+(\\d+)`, 'm').exec(listing)?.[1]);
  expect(seconds('udp'), listing).toBeGreaterThan(55);
  expect(seconds('tcp'), listing).toBeGreaterThan(110);
  expect(seconds('tcp'), listing).toBeLessThanOrEqual(120);
});

test('a duration comes and goes beside others, whose live flows keep theirs', async () => {
  const kept = delivery({ port: 3000, idleSeconds: 500 });
  await namespace.call('apply', plan(kept));
  expect(await remembered(3000)).toBeGreaterThan(490);
  const source = await namespace.sh(
    `conntrack -L -p udp --orig-port-dst 3000 2>/dev/null | sed 's/.*sport=//; s/ .*//; q'`,
  );
  for (const deliveries of [
    [kept, delivery({ port: 3001, idleSeconds: 40 })],
    [kept, delivery({ port: 3001, idleSeconds: 50 })],
    [kept],
  ]) {
    const { applied } = await namespace.call('apply', plan(...deliveries));
    expect(applied?.change.isNewTable).toBe(false);
    await namespace.call('distrust');
    expect((await namespace.call('apply', plan(...deliveries))).applied).toBeNull();
    // The next packet of the flow shows which timeout it has now.
    await namespace.sh(
      `ip netns exec client node -e "require('dgram').createSocket('udp4').bind(${source.trim()}, function () { this.send('x', 3000, '203.0.113.9', () => process.exit(0)) })"`,
    );
    const listing = await namespace.sh('conntrack -L -p udp --orig-port-dst 3000 2>/dev/null');
    expect(Number(/^udp\s+17\s+(\d+)/.exec(listing)?.[1]), listing).toBeGreaterThan(490);
  }
  expect((await namespace.call('observe')).idleTimeouts).toEqual({
    objects: ['udp-500'],
    rules: ['udp-500'],
    sets: { 'udp-500': [['"enp1s0" . 3000', { comment: 'games/quake' }]] },
  });
});

test.each([
  ['its rule', 'nft flush chain ip kuport kup-idle'],
  ['an element', `nft delete element ip kuport idle-udp-30 '{ "enp1s0" . 3000 }'`],
  ['rule and set', 'nft flush chain ip kuport kup-idle; nft delete set ip kuport idle-udp-30'],
  [
    'all of it',
    'nft flush chain ip kuport kup-idle; nft delete set ip kuport idle-udp-30; nft delete ct timeout ip kuport udp-30',
  ],
])('%s deleted by hand is put back', async (_, damage) => {
  const wanted = plan(delivery({ port: 3000, idleSeconds: 30 }));
  await namespace.call('apply', wanted);
  await namespace.sh(damage);
  expect(await remembered(3000)).toBeLessThanOrEqual(2);
  await namespace.call('distrust');
  await namespace.call('apply', wanted);
  expect(await remembered(3000)).toBeGreaterThan(27);
});
