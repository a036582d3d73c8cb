import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Delivery } from '../plan/node-plan.ts';
import { elementComment, elementsOf, type RulesetPlan, renderChange, renderRuleset, type setNames } from './ruleset.ts';
import { TestNamespace } from './testing/namespace.ts';
import { delivery, returnPath } from './testing/plans.ts';

let namespace: TestNamespace;

beforeAll(async () => {
  namespace = await TestNamespace.start();
});

afterAll(() => namespace.stop());

/** @throws Error with the stderr of nft */
async function load(text: string): Promise<void> {
  const file = join(namespace.folder, 'ruleset.nft');
  await writeFile(file, text);
  await namespace.sh(`nft -f ${file}`);
}

async function held(): Promise<Record<string, unknown>> {
  const { sets } = await namespace.call('observe');
  return Object.fromEntries(Object.entries(sets).map(([name, elements]) => [name, new Map(elements)]));
}

const games = (deliveries: Delivery[], rest: Partial<RulesetPlan> = {}): RulesetPlan => ({
  deliveries,
  returnPaths: [],
  ...rest,
});

describe('comments', () => {
  test('up to 128 bytes stay as they are', () => expect(elementComment('n'.repeat(128))).toBe('n'.repeat(128)));

  test('longer ones are shortened and still told apart', () => {
    const long = (middle: string): string => `${'n'.repeat(63)}/${'p'.repeat(60)}${middle}${'p'.repeat(60)}`;
    expect(Buffer.byteLength(elementComment(long('a')))).toBeLessThanOrEqual(128);
    expect(elementComment(long('a'))).not.toBe(elementComment(long('b')));
    expect(elementComment(long('a'))).toBe(elementComment(long('a')));
  });

  test('of any length are taken by nft', async () => {
    const portMap = `${'n'.repeat(63)}/${'p'.repeat(253)}`;
    await load(renderRuleset(games([delivery({ portMap }), delivery({ portMap, protocol: 'TCP', endPort: 3010 })])));
    expect(await held()).toEqual(
      elementsOf(games([delivery({ portMap }), delivery({ portMap, protocol: 'TCP', endPort: 3010 })])),
    );
  });
});

describe('elements', () => {
  test('one address on two interfaces: what was dialled is one range, with the names of both mappings', () => {
    const sets = elementsOf(
      games([
        delivery({ portMap: 'games/b', interface: 'wt0', port: 3005, endPort: 3020 }),
        delivery({ portMap: 'games/a', port: 3000, endPort: 3010 }),
        delivery({ portMap: 'games/c', port: 3021 }),
      ]),
    );
    expect([...sets['dialled-udp']]).toEqual([
      ['203.0.113.9 . 3000-3020', { comment: 'games/a games/b' }],
      ['203.0.113.9 . 3021', { comment: 'games/c' }],
    ]);
    expect(sets['dialled-tcp'].size).toBe(0);
  });

  test('a node that hands on to a link exempts nothing', () => {
    const sets = elementsOf(games([delivery({ targetIsPod: false, targetAddress: '169.254.77.1' })]));
    expect(sets['dialled-udp'].size).toBe(0);
    expect([...sets.ports.values()]).toEqual([{ value: '169.254.77.1 . 3000', comment: 'games/quake' }]);
  });
});

describe('a change', () => {
  test('of nothing is nothing, of everything is the table, to nothing its removal', () => {
    const plan = games([delivery()]);
    const nothing = games([]);
    expect(renderChange(plan, plan)).toBe('');
    expect(renderChange(nothing, nothing)).toBe('');
    expect(renderChange(null, plan)).toBe(renderRuleset(plan));
    expect(renderChange(nothing, plan)).toBe(renderRuleset(plan));
    expect(renderChange(plan, nothing)).toBe('add table ip kuport\ndelete table ip kuport\n');
  });

  test('of one mapping names no other', () => {
    const kept = delivery({ portMap: 'games/kept', port: 4000 });
    const text = renderChange(games([kept, delivery()]), games([kept, delivery({ targetAddress: '10.244.1.8' })]));
    expect(text).toBe(
      [
        'delete element ip kuport ports { "enp1s0" . udp . 3000 }',
        'add element ip kuport ports {',
        '  "enp1s0" . udp . 3000 comment "games/quake" : 10.244.1.8 . 3000',
        '}',
        '',
      ].join('\n'),
    );
  });

  /** Mappings on two interfaces, without overlaps on either: what admission lets through. */
  const plans = fc
    .record({
      places: fc.tuple(
        ...(['enp1s0', 'wt0', 'kup-00000001'] as const).flatMap((device) =>
          (['TCP', 'UDP'] as const).map((protocol) =>
            fc
              .array(
                fc.record({
                  gap: fc.integer({ min: 0, max: 4 }),
                  size: fc.constantFrom(0, 0, 1, 7, 15),
                  owner: fc.constantFrom('games/a', 'games/b', 'mail/c'),
                  target: fc.constantFrom('10.244.1.7', '10.244.1.8'),
                  targetIsPod: fc.boolean(),
                }),
                { maxLength: 4 },
              )
              .map((ranges) => {
                let next = 4096;
                return ranges.map(({ gap, size, owner, target, targetIsPod }): Delivery => {
                  const port = next + gap;
                  next = port + size + 1;
                  return delivery({
                    portMap: owner,
                    interface: device,
                    protocol,
                    port,
                    endPort: port + size,
                    targetAddress: target,
                    targetPort: port,
                    targetIsPod,
                    dialledAddresses: device === 'kup-00000001' ? ['169.254.77.0'] : ['203.0.113.9', '203.0.113.10'],
                  });
                });
              }),
          ),
        ),
      ),
      mark: fc.option(fc.integer({ min: 1, max: 31 })),
    })
    .map(
      ({ places, mark }): RulesetPlan => ({
        deliveries: places.flat(),
        returnPaths: mark === null ? [] : [returnPath({ mark: 0x6b700000 + mark, table: 0x6b700000 + mark })],
      }),
    );

  test('after any sequence of plans the kernel holds the last one', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(plans, { minLength: 2, maxLength: 4 }), async (sequence) => {
        let previous: RulesetPlan | null = null;
        for (const plan of sequence) {
          const text = renderChange(previous, plan);
          if (text !== '') await load(text);
          expect(await held()).toEqual(elementsOf(plan));
          previous = plan;
        }
      }),
      { numRuns: 25 },
    );
  });
});

/** A client, a node and a pod behind a CNI that masquerades everything on its way into the pod network. */
describe('with packets', () => {
  beforeAll(async () => {
    await namespace.sh(
      [
        'mount -t tmpfs tmpfs /run',
        'sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0',
        'ip netns add client && ip netns add pod',
        'ip link add enp1s0 type veth peer name eth0 netns client',
        'ip link add cni0 type veth peer name eth0 netns pod',
        'ip addr add 198.51.100.1/24 dev enp1s0 && ip addr add 198.51.100.2/24 dev enp1s0 && ip link set enp1s0 up',
        'ip addr add 10.244.1.1/24 dev cni0 && ip link set cni0 up',
        'ip -n client addr add 198.51.100.7/24 dev eth0 && ip -n client link set eth0 up',
        'ip -n pod addr add 10.244.1.7/24 dev eth0 && ip -n pod link set eth0 up && ip -n pod route add default via 10.244.1.1',
      ].join(' && '),
    );
    await load(`
      table ip cni {
        chain hostport { type nat hook prerouting priority dstnat; ip daddr 198.51.100.2 udp dport 3000 dnat to 10.244.1.7:3000; }
        chain hide { type nat hook postrouting priority srcnat; oifname "cni0" masquerade; }
      }`);
    await namespace.sh(
      `ip netns exec pod nft 'add table ip seen; add chain ip seen in { type filter hook prerouting priority 0; }; add rule ip seen in ip saddr 198.51.100.7 udp dport 1-65535 counter comment "client"; add rule ip seen in ip saddr 10.244.1.1 udp dport 1-65535 counter comment "node"'`,
    );
  });

  beforeEach(() => namespace.sh('nft "add table ip kuport; delete table ip kuport"'));

  const dial = (address: string, port: number): Promise<string> =>
    namespace.sh(`ip netns exec client bash -c 'echo hello > /dev/udp/${address}/${port}'`);

  /** Packets by what the pod took for their sender. */
  async function seen(): Promise<{ client: number; node: number }> {
    const rules = await namespace.sh('ip netns exec pod nft list chain ip seen in');
    const packets = (comment: string): number =>
      Number(new RegExp(`packets (\\d+) bytes \\d+ comment "${comment}"`).exec(rules)?.[1]);
    return { client: packets('client'), node: packets('node') };
  }

  async function packetsOf(set: (typeof setNames)[number]): Promise<Record<string, number>> {
    const listing = await namespace.sh(`nft list set ip kuport ${set} 2>/dev/null || nft list map ip kuport ${set}`);
    return Object.fromEntries(
      [...listing.matchAll(/counter packets (\d+) bytes \d+ comment "([^"]+)"/g)].map(([, packets, name]) => [
        name ?? '',
        Number(packets),
      ]),
    );
  }

  const onFirst = { dialledAddresses: ['198.51.100.1'] };

  test("the exemption claims kuport's flows, and not another's to an address of one mapping and a port of another", async () => {
    await load(
      renderRuleset(
        games([
          delivery({ portMap: 'games/first', ...onFirst }),
          delivery({ portMap: 'games/second', port: 4000, targetPort: 4000, dialledAddresses: ['198.51.100.2'] }),
        ]),
      ),
    );
    const before = await seen();
    await dial('198.51.100.1', 3000);
    expect(await seen()).toEqual({ client: before.client + 1, node: before.node });
    await dial('198.51.100.2', 4000);
    expect(await seen()).toEqual({ client: before.client + 2, node: before.node });
    expect(await packetsOf('dialled-udp')).toEqual({ 'games/first': 1, 'games/second': 1 });
    // The CNI's own hostPort: not ours, although the address and the port are each dialled for mappings of ours.
    await namespace.sh('nft delete element ip kuport ports { \\"enp1s0\\" . udp . 3000 }');
    await dial('198.51.100.2', 3000);
    expect(await seen()).toEqual({ client: before.client + 2, node: before.node + 1 });
  });

  test('counters of what a change leaves alone go on, in every set', async () => {
    const kept = delivery({ portMap: 'games/kept', ...onFirst });
    const range = delivery({ portMap: 'games/range', port: 5000, endPort: 5010, targetPort: 5000, ...onFirst });
    const first = games([kept, range, delivery({ portMap: 'games/moves', port: 4000, targetPort: 4000, ...onFirst })]);
    await load(renderRuleset(first));
    for (const port of [3000, 5005, 4000]) await dial('198.51.100.1', port);
    const counted = { 'games/kept': 1, 'games/range': 1, 'games/moves': 1 };
    expect(await packetsOf('requests')).toEqual(counted);
    expect(await packetsOf('dialled-udp')).toEqual(counted);
    const second = games([
      kept,
      range,
      delivery({ portMap: 'games/moves', port: 4000, endPort: 4010, targetPort: 4000, ...onFirst }),
      delivery({ portMap: 'games/new', port: 3001, targetPort: 3001, ...onFirst }),
    ]);
    await load(renderChange(first, second));
    await dial('198.51.100.1', 3000);
    await dial('198.51.100.1', 5006);
    const after = { 'games/kept': 2, 'games/range': 2, 'games/moves': 0, 'games/new': 0 };
    expect(await packetsOf('requests')).toEqual(after);
    expect(await packetsOf('dialled-udp')).toEqual(after);
    expect(await packetsOf('ports')).toEqual({ 'games/kept': 2, 'games/new': 0 });
    expect(await packetsOf('port-ranges')).toEqual({ 'games/range': 2, 'games/moves': 0 });
  });

  test('a range keeps the dialled port, its neighbours are not taken', async () => {
    await load(renderRuleset(games([delivery({ port: 5000, endPort: 5010, targetPort: 5000, ...onFirst })])));
    const before = await seen();
    for (const port of [4999, 5000, 5010, 5011]) await dial('198.51.100.1', port);
    expect(await seen()).toEqual({ client: before.client + 2, node: before.node });
  });

  test('traffic that the node only forwards is not taken', async () => {
    await namespace.sh('ip -n client route replace 10.244.1.0/24 via 198.51.100.1');
    await load(renderRuleset(games([delivery({ targetAddress: '10.244.1.9', ...onFirst })])));
    await dial('10.244.1.7', 3000);
    expect(await packetsOf('ports')).toEqual({ 'games/quake': 0 });
    expect(await packetsOf('requests')).toEqual({ 'games/quake': 0 });
  });
});
