import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Delivery, NodePlan } from '../plan/node-plan.ts';
import { TestNamespace } from './testing/namespace.ts';
import { delivery, emptyPlan } from './testing/plans.ts';

let namespace: TestNamespace;

beforeEach(async () => {
  namespace = await TestNamespace.start();
  await namespace.addClient();
});

afterEach(() => namespace.stop());

const plan = (...deliveries: Delivery[]): NodePlan => ({ ...emptyPlan, deliveries });

/** What each set has counted for the mapping on a port. */
async function counted(set: string, port = '3000'): Promise<number> {
  const text = await namespace.sh(`nft list set ip kuport ${set} 2>/dev/null || nft list map ip kuport ${set}`);
  return Number(new RegExp(`udp \\. ${port} counter packets (\\d+)`).exec(text)?.[1]);
}

async function repair(wanted: NodePlan): Promise<void> {
  await namespace.call('distrust');
  await namespace.call('apply', wanted);
}

const range = delivery({ portMap: 'games/range', port: 4000, endPort: 4010 });

test('go on when the table is written anew, for ports and for ranges', async () => {
  const wanted = plan(delivery(), range);
  await namespace.call('apply', wanted);
  await namespace.sendFromClient(3000, 5);
  await namespace.sendFromClient(4004, 4);
  // The skeleton is damaged, the sets are still there: what they hold is read, then all is written anew.
  await namespace.sh('nft flush chain ip kuport kup-mangle');
  await repair(wanted);
  await namespace.sendFromClient(3000, 2);
  await namespace.sendFromClient(4009, 1);
  expect(await counted('requests')).toBe(7);
  expect(await counted('requests', '4000-4010')).toBe(5);
  expect(await counted('ports')).toBe(7);
  expect(await counted('port-ranges', '4000-4010')).toBe(5);
});

test('go on over a restart of the agent that has to write the table anew', async () => {
  const wanted = plan(delivery());
  await namespace.call('apply', wanted);
  await namespace.sendFromClient(3000, 5);
  await namespace.call('restart');
  await namespace.sh('nft flush chain ip kuport kup-post');
  await repair(wanted);
  await namespace.sendFromClient(3000, 1);
  expect(await counted('requests')).toBe(6);
});

test('are never less than what was last read when others flush the ruleset', async () => {
  const wanted = plan(delivery());
  await namespace.call('apply', wanted);
  await namespace.sendFromClient(3000, 5);
  await repair(wanted);
  await namespace.sendFromClient(3000, 3);
  await namespace.sh('nft flush ruleset');
  await repair(wanted);
  await namespace.sendFromClient(3000, 1);
  // The three after the last look went with the table.
  expect(await counted('requests')).toBe(6);
  expect(await counted('ports')).toBe(6);
});

test('go on when the mapping leads to another pod, read just before', async () => {
  await namespace.call('apply', plan(delivery(), range));
  await namespace.sendFromClient(3000, 5);
  await namespace.sendFromClient(4001, 5);
  await namespace.call(
    'apply',
    plan(delivery({ targetAddress: '10.244.1.8' }), { ...range, targetAddress: '10.244.1.8' }),
  );
  await namespace.sendFromClient(3000, 2);
  await namespace.sendFromClient(4001, 2);
  expect(await counted('ports')).toBe(7);
  expect(await counted('port-ranges', '4000-4010')).toBe(7);
});

test('go on when an element alone was deleted by hand', async () => {
  const wanted = plan(delivery());
  await namespace.call('apply', wanted);
  await namespace.sendFromClient(3000, 5);
  await repair(wanted);
  await namespace.sh(`nft delete element ip kuport requests '{ "enp1s0" . udp . 3000 }'`);
  await repair(wanted);
  await namespace.sendFromClient(3000, 1);
  expect(await counted('requests')).toBe(6);
});

test('begin anew for another mapping on the port, and for one that was away', async () => {
  await namespace.call('apply', plan(delivery(), range));
  await namespace.sendFromClient(3000, 5);
  await namespace.call('apply', plan(delivery({ portMap: 'games/other' }), range));
  await namespace.sendFromClient(3000, 1);
  expect(await counted('ports')).toBe(1);
  await namespace.call('apply', plan(range));
  await namespace.call('apply', plan(delivery({ portMap: 'games/other' }), range));
  await namespace.sendFromClient(3000, 1);
  expect(await counted('ports')).toBe(1);
});
