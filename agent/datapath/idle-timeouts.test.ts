import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Delivery, NodePlan } from '../plan/node-plan.ts';
import { TestNamespace } from './testing/namespace.ts';
import { delivery, emptyPlan } from './testing/plans.ts';

let namespace: TestNamespace;

beforeEach(async () => {
  namespace = await TestNamespace.start();
  // Whatever a datagram's sender has made of it, each protocol's flows begin with these.
  await namespace.sh(
    'cd /proc/sys/net/netfilter && echo 2 > nf_conntrack_udp_timeout && echo 3 > nf_conntrack_udp_timeout_stream',
  );
});

afterEach(() => namespace.stop());

/** A mapping on the loopback device, which leads to the port itself. */
function local(over: Partial<Delivery>): Delivery {
  return delivery({ interface: 'lo', targetAddress: '127.0.0.1', dialledAddresses: ['127.0.0.1'], ...over });
}

const plan = (...deliveries: Delivery[]): NodePlan => ({ ...emptyPlan, deliveries });

/** Seconds until the kernel forgets the flow to a port, after a datagram to it from a new socket. */
async function remembered(port: number): Promise<number> {
  await namespace.sh(`echo x > /dev/udp/127.0.0.1/${port}`);
  const listing = await namespace.sh(`conntrack -L -p udp --orig-port-dst ${port} 2>/dev/null | tail -1`);
  return Number(/^udp\s+17\s+(\d+)/.exec(listing)?.[1]);
}

test('new flows of a mapping get its timeout, others the default', async () => {
  await namespace.call(
    'apply',
    plan(
      local({ port: 3000, idleSeconds: 30 }),
      local({ port: 3001, idleSeconds: 604_800 }),
      local({ port: 3002 }),
      local({ portMap: 'games/range', port: 4000, endPort: 4010, idleSeconds: 30 }),
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
    plan(local({ port: 3000, idleSeconds: 60 }), local({ protocol: 'TCP', port: 3000, idleSeconds: 120 })),
  );
  const script = `
    const udp = require('node:dgram').createSocket('udp4').on('message', (m, from) => udp.send(m, from.port, from.address));
    const tcp = require('node:net').createServer((each) => each.pipe(each)).listen(3000);
    udp.bind(3000, () => {
      const client = require('node:dgram').createSocket('udp4');
      const asked = require('node:net').connect(3000, '127.0.0.1');
      let left = 3;
      // The kernel takes a UDP flow for a stream once it has lasted two seconds.
      const ask = () => client.send('x', 3000, '127.0.0.1');
      client.on('message', () => (--left > 0 ? setTimeout(ask, 1100) : asked.write('x')));
      asked.on('data', () => {
        console.log(require('node:child_process').execSync('conntrack -L --orig-port-dst 3000 2>/dev/null').toString());
        process.exit(0);
      });
      ask();
    });`;
  const listing = await namespace.sh(`node -e '${script.replaceAll("'", `'"'"'`)}'`);
  const seconds = (protocol: string): number =>
    Number(new RegExp(`^${protocol}\\s+\\d+\\s+(\\d+)`, 'm').exec(listing)?.[1]);
  expect(seconds('udp'), listing).toBeGreaterThan(55);
  expect(seconds('tcp'), listing).toBeGreaterThan(110);
  expect(seconds('tcp'), listing).toBeLessThanOrEqual(120);
});

test('a duration comes and goes beside others, whose live flows keep theirs', async () => {
  const kept = local({ port: 3000, idleSeconds: 500 });
  await namespace.call('apply', plan(kept));
  expect(await remembered(3000)).toBeGreaterThan(490);
  const source = await namespace.sh(
    `conntrack -L -p udp --orig-port-dst 3000 2>/dev/null | sed 's/.*sport=//; s/ .*//; q'`,
  );
  for (const deliveries of [
    [kept, local({ port: 3001, idleSeconds: 40 })],
    [kept, local({ port: 3001, idleSeconds: 50 })],
    [kept],
  ]) {
    const { applied } = await namespace.call('apply', plan(...deliveries));
    expect(applied?.change.isNewTable).toBe(false);
    await namespace.call('distrust');
    expect((await namespace.call('apply', plan(...deliveries))).applied).toBeNull();
    // The next packet of the flow shows which timeout it has now.
    await namespace.sh(
      `node -e "require('dgram').createSocket('udp4').bind(${source.trim()}, function () { this.send('x', 3000, '127.0.0.1', () => process.exit(0)) })"`,
    );
    const listing = await namespace.sh('conntrack -L -p udp --orig-port-dst 3000 2>/dev/null');
    expect(Number(/^udp\s+17\s+(\d+)/.exec(listing)?.[1]), listing).toBeGreaterThan(490);
  }
  expect((await namespace.call('observe')).idleTimeouts).toEqual({
    objects: ['udp-500'],
    rules: ['udp-500'],
    sets: { 'udp-500': [['"lo" . 3000', { comment: 'games/quake' }]] },
  });
});

test.each([
  ['its rule', 'nft flush chain ip kuport kup-idle'],
  ['an element', `nft delete element ip kuport idle-udp-30 '{ "lo" . 3000 }'`],
  ['rule and set', 'nft flush chain ip kuport kup-idle; nft delete set ip kuport idle-udp-30'],
  [
    'all of it',
    'nft flush chain ip kuport kup-idle; nft delete set ip kuport idle-udp-30; nft delete ct timeout ip kuport udp-30',
  ],
])('%s deleted by hand is put back', async (_, damage) => {
  const wanted = plan(local({ port: 3000, idleSeconds: 30 }));
  await namespace.call('apply', wanted);
  await namespace.sh(damage);
  expect(await remembered(3000)).toBeLessThanOrEqual(2);
  await namespace.call('distrust');
  await namespace.call('apply', wanted);
  expect(await remembered(3000)).toBeGreaterThan(27);
});
