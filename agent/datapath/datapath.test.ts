import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NodePlan } from '../plan/node-plan.ts';
import { TestNamespace } from './testing/namespace.ts';
import { delivery, emptyPlan, link, podNodePlan, returnPath } from './testing/plans.ts';

let namespace: TestNamespace;

beforeEach(async () => {
  namespace = await TestNamespace.start();
  await namespace.sh(
    [
      'sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.default.rp_filter=1',
      'ip link add enp1s0 type veth peer name enp1s0-peer',
      'ip addr add 203.0.113.9/24 dev enp1s0',
      'ip addr add 100.64.93.143/16 dev enp1s0',
      'ip link set enp1s0 up',
      'ip link set enp1s0-peer up',
    ].join(' && '),
  );
});

afterEach(() => namespace.stop());

/** Everything of the namespace that anybody could tell apart. */
function state(): Promise<string> {
  return namespace.sh(
    'ip -br link | sort | cut -d" " -f1; ip -br link | grep kup-; ip addr show | grep inet\\ ; ip rule; ip route show table all | grep -v fe80; nft list ruleset; sysctl -a 2>/dev/null | grep "conf.*rp_filter"',
  );
}

const writes = (commands: string[]): string[] =>
  commands.filter((each) => !/ -json |^nft --(terse|json) list|^conntrack -L/.test(each));

test('from nothing: link, route, rules and table are there, the reverse path filter of the link alone is loose', async () => {
  await namespace.call('apply', podNodePlan);
  const have = await namespace.call('observe');
  expect(have.links).toEqual([
    {
      device: 'kup-00000001',
      isUp: true,
      mtu: 1370,
      mac: '02:6b:a9:fe:4d:00',
      vxlan: { vni: 4242, port: 4790, local: '100.64.93.143', remote: '100.64.93.145', ttl: 64 },
      addresses: ['169.254.77.0/31'],
      rpFilter: 2,
    },
  ]);
  expect(await namespace.sh('ip rule show')).toContain('101:	from all to 100.64.93.145 fwmark 0x6b700001 lookup main');
  expect(await namespace.sh('ip rule show')).toContain('102:	from all fwmark 0x6b700001 lookup 1802502145');
  expect(await namespace.sh('ip route show table 1802502145')).toContain('default via 169.254.77.1 dev kup-00000001');
  expect(have.isOurs).toBe(true);
  expect(have.sets['port-ranges']).toEqual([
    ['"enp1s0" . tcp . 27015-27115', { value: '10.244.1.7', comment: 'games/ranges' }],
  ]);
  const filters = await namespace.sh('cd /proc/sys/net/ipv4/conf && grep . */rp_filter | grep -v kup-');
  expect(
    filters
      .trim()
      .split('\n')
      .filter((line) => !line.endsWith(':1')),
  ).toEqual(['lo/rp_filter:0']);
});

test('an apply that changes nothing runs no command that writes, also when it looks again, also after a restart', async () => {
  await namespace.call('apply', podNodePlan);
  await namespace.commands();
  expect((await namespace.call('apply', podNodePlan)).applied).toBeNull();
  await namespace.call('distrust');
  expect((await namespace.call('apply', podNodePlan)).applied).toBeNull();
  await namespace.call('restart');
  expect((await namespace.call('apply', podNodePlan)).applied).toBeNull();
  const commands = await namespace.commands();
  expect(commands.length).toBeGreaterThan(0);
  expect(writes(commands)).toEqual([]);
});

test('a restart keeps counters, and a change beside them does too', async () => {
  await namespace.sh('nft "add table ip other; add chain ip other c { type nat hook prerouting priority 0; }"');
  await namespace.call('apply', {
    ...emptyPlan,
    deliveries: [delivery({ interface: 'lo', dialledAddresses: ['127.0.0.1'] })],
  });
  await namespace.sh('echo hello > /dev/udp/127.0.0.1/3000');
  const counter = (): Promise<string> => namespace.sh('nft list set ip kuport requests | grep -o "packets [0-9]*"');
  expect((await counter()).trim()).toBe('packets 1');
  await namespace.call('restart');
  const { applied } = await namespace.call('apply', {
    ...emptyPlan,
    deliveries: [
      delivery({ interface: 'lo', dialledAddresses: ['127.0.0.1'] }),
      delivery({ portMap: 'games/other', port: 3001 }),
    ],
  });
  expect(applied?.change.isNewTable).toBe(false);
  expect((await counter()).trim().split('\n')).toContain('packets 1');
});

test('removal leaves the namespace as it was', async () => {
  const before = await state();
  await namespace.call('apply', podNodePlan);
  expect(await state()).not.toBe(before);
  await namespace.call('apply', emptyPlan);
  expect(await state()).toBe(before);
});

test('cleanup removes what an earlier agent left; a dry run says the same and does nothing', async () => {
  const before = await state();
  await namespace.call('apply', podNodePlan);
  const held = await state();
  const said = await namespace.call('cleanup', true);
  expect(await state()).toBe(held);
  expect(await namespace.call('cleanup', false)).toEqual(said);
  expect(await state()).toBe(before);
});

const changes: Record<string, NodePlan> = {
  'another MTU': { ...podNodePlan, links: [link({ mtu: 1230 })] },
  'another underlay': {
    ...podNodePlan,
    links: [link({ underlayAddress: '203.0.113.9', peerUnderlayAddress: '203.0.113.10' })],
  },
  'another slot': {
    ...podNodePlan,
    links: [link({ vni: 4250, address: '169.254.77.16', peerAddress: '169.254.77.17' })],
    returnPaths: [returnPath({ address: '169.254.77.16', peerAddress: '169.254.77.17' })],
  },
  'another address': {
    ...podNodePlan,
    links: [link({ address: '169.254.78.0', peerAddress: '169.254.78.1' })],
    returnPaths: [returnPath({ address: '169.254.78.0', peerAddress: '169.254.78.1' })],
  },
  'another mark': { ...podNodePlan, returnPaths: [returnPath({ mark: 0x6b700002, table: 0x6b700002 })] },
  'another device': {
    ...podNodePlan,
    links: [link({ device: 'kup-00000002' })],
    returnPaths: [returnPath({ device: 'kup-00000002' })],
  },
  'VNIs swapped between two links': {
    ...podNodePlan,
    links: [link({ vni: 4243 }), link({ device: 'kup-00000002', vni: 4242, address: '169.254.77.2' })],
  },
  'no link any more': { ...emptyPlan, deliveries: [delivery()] },
  'a pod elsewhere': { ...podNodePlan, deliveries: [delivery({ targetAddress: '10.244.1.8' })] },
};

test.each(Object.entries(changes))('%s: changed in place and back, the same as from nothing', async (_, changed) => {
  const observed = async (): Promise<unknown> => {
    const { skeleton: _, ...rest } = await namespace.call('observe');
    return rest;
  };
  await namespace.call('apply', changed);
  const wanted = await observed();
  await namespace.call('apply', emptyPlan);
  await namespace.call('apply', podNodePlan);
  const first = await observed();
  expect(first).not.toEqual(wanted);
  await namespace.call('apply', changed);
  expect(await observed()).toEqual(wanted);
  await namespace.call('apply', podNodePlan);
  expect(await observed()).toEqual(first);
});

const damages = [
  'nft flush ruleset',
  'nft flush chain ip kuport kup-pre',
  'nft flush map ip kuport ports',
  'nft add rule ip kuport kup-mangle counter drop',
  'nft insert rule ip kuport kup-post return comment \\"client\\\'s TCP address stays\\"',
  'while ip rule del proto 107 2>/dev/null; do :; done; ip rule del pref 101; ip rule del pref 102',
  'ip route flush table 1802502145',
  'ip link set kup-00000001 down',
  'ip link del kup-00000001',
  'ip addr flush dev kup-00000001',
  'ip link set kup-00000001 mtu 1000',
  'ip link set kup-00000001 address 02:00:00:00:00:01',
  'sysctl -w net.ipv4.conf.kup-00000001.rp_filter=1',
];

test.each(damages)('mends: %s', async (damage) => {
  await namespace.call('apply', podNodePlan);
  const whole = await state();
  await namespace.sh(damage).catch(() => undefined);
  expect(await state()).not.toBe(whole);
  await namespace.call('distrust');
  await namespace.call('apply', podNodePlan);
  expect(await state()).toBe(whole);
});

test('a link that the kernel refuses does not stop the others, and the error names the command and its stderr', async () => {
  await namespace.sh('ip link add foreign type vxlan id 4242 local 100.64.93.143 remote 100.64.93.9 dstport 4790');
  const plan = {
    ...podNodePlan,
    links: [link(), link({ device: 'kup-00000002', vni: 4243, address: '169.254.77.2' })],
  };
  await expect(namespace.call('apply', plan)).rejects.toThrow(
    /ip -force -batch -: exit 1\n.*A VXLAN device with the specified VNI already exists|ip -force -batch -: exit 1\n.*File exists/,
  );
  expect(await namespace.sh('ip -br addr show kup-00000002')).toContain('169.254.77.2/31');
  expect(await namespace.sh('nft list map ip kuport ports')).toContain('games/quake');
  await namespace.sh('ip link del foreign');
  await namespace.call('apply', plan);
  expect(await namespace.sh('ip -br addr show kup-00000001')).toContain('169.254.77.0/31');
});

test.each([
  ['ip rule del pref 102', 'links', ['rule']],
  ['ip route flush table 1802502145', 'links', ['route']],
  ['ip link set kup-00000001 down', 'links', ['link', 'route']],
  ['ip link del kup-00000001', 'links', ['link', 'route']],
  ['ip addr flush dev kup-00000001', 'links', ['link', 'route']],
  ['nft flush chain ip kuport kup-mangle', 'ruleset', ['table']],
  ['nft flush map ip kuport ports', 'ruleset', ['elements']],
] as const)('%s is put back, and told as a repair', async (command, subject, repaired) => {
  await namespace.call('apply', podNodePlan);
  const before = await state();
  await namespace.sh(command);
  await namespace.call('distrust', subject);
  const { applied } = await namespace.call('apply', podNodePlan);
  expect([...new Set(applied?.repairs.map((each) => each.subject))].sort()).toEqual(repaired);
  expect(await state()).toBe(before);
});

test("what a plan changes is no repair, nor is anything that was found at an agent's start", async () => {
  await namespace.call('apply', podNodePlan);
  await namespace.call('distrust', 'ours');
  expect((await namespace.call('apply', emptyPlan)).applied?.repairs).toEqual([]);
  await namespace.call('apply', podNodePlan);
  await namespace.sh('ip rule del pref 102');
  await namespace.call('restart');
  expect((await namespace.call('apply', podNodePlan)).applied?.repairs).toEqual([]);
});
