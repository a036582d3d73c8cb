import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NodePlan } from '../plan/node-plan.ts';
import { TestNamespace } from './testing/namespace.ts';
import { delivery, emptyPlan, link, returnPath } from './testing/plans.ts';

let namespace: TestNamespace;

beforeEach(async () => {
  namespace = await TestNamespace.start();
  await namespace.sh(
    'ip link add enp1s0 type veth peer name enp1s0-peer && ip addr add 203.0.113.9/24 dev enp1s0 && ip link set enp1s0 up && ip link set enp1s0-peer up',
  );
});

afterEach(() => namespace.stop());

interface Entry {
  client: string;
  to: string;
  /** Where it was translated to: address and port; the dialled ones when left out. */
  pod?: string;
  protocol?: 'udp' | 'tcp';
}

/** Puts an entry into the kernel's table, as a packet would. */
async function insert({ client, to, pod = to, protocol = 'udp' }: Entry): Promise<void> {
  const [clientAddress, clientPort] = client.split(':');
  const [address, port] = to.split(':');
  const [podAddress, podPort] = pod.split(':');
  const state = protocol === 'tcp' ? '--state ESTABLISHED' : '';
  await namespace.sh(
    `conntrack -I -p ${protocol} -s ${clientAddress} --sport ${clientPort} -d ${address} --dport ${port} -r ${podAddress} --reply-port-src ${podPort} -q ${clientAddress} --reply-port-dst ${clientPort} -t 60 ${state} 2>&1`,
  );
}

/** `protocol client -> dialled, answered from`, sorted. */
async function entries(): Promise<string[]> {
  const text = await namespace.sh('conntrack -L 2>/dev/null');
  return text
    .split('\n')
    .flatMap((line) => {
      const match = /^(udp|tcp) .*?src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+).*? src=(\S+) dst=\S+ sport=(\d+)/.exec(
        line,
      );
      if (match === null) return [];
      const [, protocol, source, destination, sourcePort, port, from, fromPort] = match;
      return [`${protocol} ${source}:${sourcePort} -> ${destination}:${port}, ${from}:${fromPort}`];
    })
    .sort();
}

const quake = delivery();

test('a moved endpoint: the entries of its clients go, every other stays', async () => {
  await namespace.call('apply', {
    ...emptyPlan,
    deliveries: [quake, delivery({ portMap: 'games/other', port: 3001 })],
  });
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:3000', pod: '10.244.1.7:3000' });
  await insert({ client: '198.51.100.8:5000', to: '203.0.113.9:3000', pod: '10.244.1.7:3000' });
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:3001', pod: '10.244.1.7:3001' });
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:3000', pod: '10.244.1.7:3000', protocol: 'tcp' });
  await insert({ client: '198.51.100.7:5001', to: '203.0.113.10:3000', pod: '10.244.1.7:3000' });
  await insert({ client: '198.51.100.9:5000', to: '203.0.113.9:3000', pod: '10.244.3.3:3000' });
  await insert({ client: '203.0.113.9:3000', to: '198.51.100.7:5002' });
  const { applied } = await namespace.call('apply', {
    ...emptyPlan,
    deliveries: [delivery({ targetAddress: '10.244.1.8' }), delivery({ portMap: 'games/other', port: 3001 })],
  });
  expect(applied?.deleted).toHaveLength(2);
  expect(await entries()).toEqual([
    'tcp 198.51.100.7:5000 -> 203.0.113.9:3000, 10.244.1.7:3000',
    'udp 198.51.100.7:5000 -> 203.0.113.9:3001, 10.244.1.7:3001',
    'udp 198.51.100.7:5001 -> 203.0.113.10:3000, 10.244.1.7:3000',
    'udp 198.51.100.9:5000 -> 203.0.113.9:3000, 10.244.3.3:3000',
    'udp 203.0.113.9:3000 -> 198.51.100.7:5002, 198.51.100.7:5002',
  ]);
});

test('a gone mapping: its entries go, on the accepting node and at the end of a link', async () => {
  const arrival = delivery({ interface: 'kup-00000001', dialledAddresses: ['169.254.77.0'] });
  await namespace.call('apply', {
    ...emptyPlan,
    links: [link()],
    returnPaths: [returnPath()],
    deliveries: [quake, arrival],
  });
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:3000', pod: '10.244.1.7:3000' });
  await insert({ client: '198.51.100.8:5000', to: '169.254.77.0:3000', pod: '10.244.1.7:3000' });
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:53' });
  const { applied } = await namespace.call('apply', emptyPlan);
  expect(applied?.deleted).toHaveLength(2);
  expect(await entries()).toEqual(['udp 198.51.100.7:5000 -> 203.0.113.9:53, 203.0.113.9:53']);
});

test('a mapping that appears: what was delivered locally before goes, what somebody else translated stays', async () => {
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:3000' });
  await insert({ client: '198.51.100.8:5000', to: '203.0.113.9:3000', pod: '10.244.9.9:80' });
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:3999' });
  const { applied } = await namespace.call('apply', { ...emptyPlan, deliveries: [quake] });
  expect(applied?.deleted).toHaveLength(1);
  expect(await entries()).toEqual([
    'udp 198.51.100.7:5000 -> 203.0.113.9:3999, 203.0.113.9:3999',
    'udp 198.51.100.8:5000 -> 203.0.113.9:3000, 10.244.9.9:80',
  ]);
});

test('the same after a drift repair: the table was gone, clients went on sending', async () => {
  await namespace.call('apply', { ...emptyPlan, deliveries: [quake] });
  await namespace.sh('nft flush ruleset');
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:3000' });
  await namespace.call('distrust');
  const { applied } = await namespace.call('apply', { ...emptyPlan, deliveries: [quake] });
  expect(applied?.deleted).toHaveLength(1);
  expect(await entries()).toEqual([]);
});

test('a range: entries at its ports go, those beside it stay', async () => {
  const range = delivery({ portMap: 'games/range', port: 27015, endPort: 27020, targetPort: 27015 });
  await namespace.call('apply', { ...emptyPlan, deliveries: [range] });
  for (const port of [27014, 27015, 27018, 27020, 27021])
    await insert({ client: '198.51.100.7:5000', to: `203.0.113.9:${port}`, pod: `10.244.1.7:${port}` });
  await namespace.call('apply', { ...emptyPlan, deliveries: [{ ...range, targetAddress: '10.244.1.8' }] });
  expect(await entries()).toEqual([
    'udp 198.51.100.7:5000 -> 203.0.113.9:27014, 10.244.1.7:27014',
    'udp 198.51.100.7:5000 -> 203.0.113.9:27021, 10.244.1.7:27021',
  ]);
});

test('a restart that changes nothing deletes nothing and does not even look; a move while the agent was away is made good', async () => {
  await namespace.call('apply', { ...emptyPlan, deliveries: [quake] });
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:3000', pod: '10.244.1.7:3000' });
  await namespace.commands();
  await namespace.call('restart');
  expect((await namespace.call('apply', { ...emptyPlan, deliveries: [quake] })).applied).toBeNull();
  expect((await namespace.commands()).filter((each) => each.startsWith('conntrack'))).toEqual([]);
  expect(await entries()).toHaveLength(1);
  await namespace.call('restart');
  await namespace.call('apply', { ...emptyPlan, deliveries: [delivery({ targetAddress: '10.244.1.8' })] });
  expect(await entries()).toEqual([]);
});

test('a pass that failed before the deletion: the next one deletes', async () => {
  await namespace.call('apply', { ...emptyPlan, deliveries: [quake] });
  await insert({ client: '198.51.100.7:5000', to: '203.0.113.9:3000', pod: '10.244.1.7:3000' });
  await namespace.sh('ip link add foreign type vxlan id 4242 local 203.0.113.9 remote 100.64.93.9 dstport 4790');
  const moved = { ...emptyPlan, deliveries: [delivery({ targetAddress: '10.244.1.8' })], links: [link()] };
  await expect(namespace.call('apply', moved)).rejects.toThrow('ip -force -batch -');
  await namespace.sh('ip link del foreign');
  await namespace.call('apply', moved);
  expect(await entries()).toEqual([]);
});

test('a client with a constant source port reaches the new pod with its next datagram', async () => {
  await namespace.sh(
    [
      'mount -t tmpfs none /run',
      'nft "add table ip other; add chain ip other c { type nat hook prerouting priority 0; }"',
      'sysctl -qw net.ipv4.ip_forward=1',
      ...['client', 'pod-a', 'pod-b'].flatMap((name, index) => [
        `ip netns add ${name}`,
        `ip link add ${name} type veth peer name eth0 netns ${name}`,
        `ip addr add 10.0.${index}.1/24 dev ${name}`,
        `ip link set ${name} up`,
        `ip -n ${name} addr add 10.0.${index}.2/24 dev eth0`,
        `ip -n ${name} link set eth0 up`,
        `ip -n ${name} route add default via 10.0.${index}.1`,
      ]),
    ].join(' && '),
  );
  const to = (pod: string): NodePlan => ({
    ...emptyPlan,
    deliveries: [delivery({ interface: 'client', targetAddress: pod, dialledAddresses: ['10.0.0.1'] })],
  });
  const send = (): Promise<string> =>
    namespace.sh(
      `ip netns exec client node -e 'const socket = require("dgram").createSocket("udp4"); socket.bind(5555, () => socket.send("x", 3000, "10.0.0.1", () => socket.close()))'`,
    );
  await namespace.call('apply', to('10.0.1.2'));
  await send();
  expect(await entries()).toEqual(['udp 10.0.0.2:5555 -> 10.0.0.1:3000, 10.0.1.2:3000']);
  await namespace.call('apply', to('10.0.2.2'));
  await send();
  expect(await entries()).toEqual(['udp 10.0.0.2:5555 -> 10.0.0.1:3000, 10.0.2.2:3000']);
});
