import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Delivery, NodePlan } from '../plan/node-plan.ts';
import { TestNamespace } from './testing/namespace.ts';
import { delivery, emptyPlan } from './testing/plans.ts';

let namespace: TestNamespace;

beforeEach(async () => {
  namespace = await TestNamespace.start();
  // Delivery to the loopback device passes prerouting and needs no second namespace.
  await namespace.sh('ip addr add 127.0.0.2/8 dev lo; nft add table ip hook-nat');
});

afterEach(() => namespace.stop());

function local(over: Partial<Delivery> = {}): Delivery {
  return delivery({ interface: 'lo', targetAddress: '127.0.0.1', dialledAddresses: ['127.0.0.1'], ...over });
}

const plan = (...deliveries: Delivery[]): NodePlan => ({ ...emptyPlan, deliveries });

/** What each set has counted for the mapping on a port. */
async function counted(set: string, port = '3000'): Promise<number> {
  const text = await namespace.sh(`nft list set ip kuport ${set} 2>/dev/null || nft list map ip kuport ${set}`);
  return Number(new RegExp(`udp \\. ${port} counter packets (\\d+)`).exec(text)?.[1]);
}

/** Each its own socket: a flow and a packet. */
async function send(datagrams: number, port = 3000): Promise<void> {
  await namespace.sh(`for i in $(seq ${datagrams}); do echo x > /dev/udp/127.0.0.1/${port}; done`);
}

async function repair(wanted: NodePlan): Promise<void> {
  await namespace.call('distrust');
  await namespace.call('apply', wanted);
}

const range = local({ portMap: 'games/range', port: 4000, endPort: 4010 });

test('go on when the table is written anew, for ports and for ranges', async () => {
  const wanted = plan(local(), range);
  await namespace.call('apply', wanted);
  await send(5);
  await send(4, 4004);
  // The skeleton is damaged, the sets are still there: what they hold is read, then all is written anew.
  await namespace.sh('nft flush chain ip kuport kup-mangle');
  await repair(wanted);
  await send(2);
  await send(1, 4009);
  expect(await counted('requests')).toBe(7);
  expect(await counted('requests', '4000-4010')).toBe(5);
  expect(await counted('ports')).toBe(7);
  expect(await counted('port-ranges', '4000-4010')).toBe(5);
});

test('go on over a restart of the agent that has to write the table anew', async () => {
  const wanted = plan(local());
  await namespace.call('apply', wanted);
  await send(5);
  await namespace.call('restart');
  await namespace.sh('nft flush chain ip kuport kup-post');
  await repair(wanted);
  await send(1);
  expect(await counted('requests')).toBe(6);
});

test('are never less than what was last read when others flush the ruleset', async () => {
  const wanted = plan(local());
  await namespace.call('apply', wanted);
  await send(5);
  await repair(wanted);
  await send(3);
  await namespace.sh('nft flush ruleset');
  await repair(wanted);
  await send(1);
  // The three after the last look went with the table.
  expect(await counted('requests')).toBe(6);
  expect(await counted('ports')).toBe(6);
});

test('go on when the mapping leads to another pod, read just before', async () => {
  await namespace.call('apply', plan(local(), range));
  await send(5);
  await send(5, 4001);
  await namespace.call('apply', plan(local({ targetAddress: '127.0.0.2' }), { ...range, targetAddress: '127.0.0.2' }));
  await send(2);
  await send(2, 4001);
  expect(await counted('ports')).toBe(7);
  expect(await counted('port-ranges', '4000-4010')).toBe(7);
});

test('go on when an element alone was deleted by hand', async () => {
  const wanted = plan(local());
  await namespace.call('apply', wanted);
  await send(5);
  await repair(wanted);
  await namespace.sh(`nft delete element ip kuport requests '{ "lo" . udp . 3000 }'`);
  await repair(wanted);
  await send(1);
  expect(await counted('requests')).toBe(6);
});

test('begin anew for another mapping on the port, and for one that was away', async () => {
  await namespace.call('apply', plan(local(), range));
  await send(5);
  await namespace.call('apply', plan(local({ portMap: 'games/other' }), range));
  await send(1);
  expect(await counted('ports')).toBe(1);
  await namespace.call('apply', plan(range));
  await namespace.call('apply', plan(local({ portMap: 'games/other' }), range));
  await send(1);
  expect(await counted('ports')).toBe(1);
});
