import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestNamespace } from './testing/namespace.ts';

let namespace: TestNamespace;

beforeEach(async () => {
  namespace = await TestNamespace.start();
});

afterEach(() => namespace.stop());

/** Holds sockets open in the namespace until it ends. */
async function open(sockets: string): Promise<void> {
  await namespace.sh(
    `node -e '${sockets}; setTimeout(() => process.stdout.write("open"), 200); setInterval(() => {}, 1000)' > /mnt/sockets 2>&1 & for i in $(seq 100); do grep -q open /mnt/sockets && exit 0; sleep 0.05; done; exit 1`,
  );
}

test('listening TCP, bound UDP below the ephemeral range and sockets of the kernel, each with its role', async () => {
  await namespace.sh('mount -t tmpfs none /mnt && ip addr add 203.0.113.9/32 dev lo');
  await namespace.sh(
    'ip link add vx type vxlan id 7 local 127.0.0.1 remote 127.0.0.2 dstport 8472 && ip link set vx up',
  );
  await namespace.sh(
    'ip link add kup-1 type vxlan id 8 local 127.0.0.1 remote 127.0.0.2 dstport 45790 && ip link set kup-1 up',
  );
  await open(
    [
      'const net = require("net"), dgram = require("dgram")',
      'net.createServer().listen(22)',
      'net.createServer().listen(10250, "0.0.0.0")',
      'net.createServer().listen(6443, "203.0.113.9")',
      'net.createServer().listen(8080, "::1")',
      'dgram.createSocket("udp4").bind(5353, "127.0.0.1")',
      'dgram.createSocket("udp4").bind(40000)',
      'net.connect(22, "127.0.0.1")',
    ].join('; '),
  );
  expect((await namespace.call('facts')).listeners).toEqual([
    { protocol: 'TCP', port: 22, address: null, role: 'sshd' },
    { protocol: 'UDP', port: 5353, address: '127.0.0.1', role: 'a service of the node' },
    { protocol: 'TCP', port: 6443, address: '203.0.113.9', role: 'Kubernetes API server' },
    { protocol: 'UDP', port: 8472, address: null, role: 'vxlan' },
    { protocol: 'TCP', port: 10250, address: null, role: 'kubelet' },
    { protocol: 'UDP', port: 45790, address: null, role: 'kuport links' },
  ]);
});

test('interfaces with MTU and IPv4 addresses in their order, without our own links', async () => {
  await namespace.sh(
    'ip link add enp1s0 mtu 1400 type veth peer name other && ip addr add 203.0.113.9/24 dev enp1s0 && ip addr add 203.0.113.10/24 dev enp1s0',
  );
  await namespace.sh('ip link add kup-1 type vxlan id 8 local 127.0.0.1 remote 127.0.0.2 dstport 4790');
  const { interfaces, linkMarks } = await namespace.call('facts');
  expect(interfaces).toEqual([
    { name: 'enp1s0', mtu: 1400, addresses: ['203.0.113.9', '203.0.113.10'] },
    { name: 'lo', mtu: 65536, addresses: ['127.0.0.1'] },
    { name: 'other', mtu: 1500, addresses: [] },
  ]);
  expect(linkMarks).toEqual({});
});

test('marks of links as rules and routes have them', async () => {
  const { podNodePlan } = await import('./testing/plans.ts');
  await namespace.call('apply', podNodePlan);
  expect((await namespace.call('facts')).linkMarks).toEqual({ 'kup-00000001': 0x6b700001 });
});
