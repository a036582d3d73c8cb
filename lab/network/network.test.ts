/** The lab's network on packets: what its routers translate and refuse, what its internet drops, who joins the mesh. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Lab } from '../lab.ts';
import type { EchoReply } from '../station/protocol.ts';
import { parseTopology } from '../topology/load.ts';
import { internetSetup } from './internet.ts';

const topology = parseTopology(
  `
name: two-homes
description: A symmetric and a port-restricted home
internet: { drops: [10.0.0.0/8, 100.64.0.0/10, 192.168.0.0/16] }
mesh: { interface: wt0, cidr: 100.64.0.0/16, mtu: 1420, port: 51820, keepaliveSeconds: 25 }
pods: { cidr: 10.244.0.0/16 }
sites:
  - { name: datacenter, nat: public, subnet: 203.0.113.0/26 }
  - { name: provider, nat: public, subnet: 198.51.100.0/25 }
  - { name: home-s, nat: symmetric, subnet: 192.0.2.0/30, router: 192.0.2.2, lan: 192.168.1.0/24 }
  - { name: home-p, nat: port-restricted, subnet: 192.0.2.4/30, router: 192.0.2.6, lan: 192.168.2.0/24 }
control: { name: control, site: datacenter, interface: eth0, address: 203.0.113.2, meshAddress: 100.64.0.1 }
nodes:
  - { name: edge, site: datacenter, interface: eth0, address: 203.0.113.3, meshAddress: 100.64.0.2, podCidr: 10.244.1.0/24 }
  - { name: worker-s, site: home-s, interface: eth0, address: 192.168.1.10, meshAddress: 100.64.0.3, podCidr: 10.244.2.0/24 }
  - { name: worker-p, site: home-p, interface: eth0, address: 192.168.2.10, meshAddress: 100.64.0.4, podCidr: 10.244.3.0/24 }
clients:
  - { name: server-a, site: provider, address: 198.51.100.7 }
  - { name: server-b, site: provider, address: 198.51.100.8 }
  - { name: client-s, site: home-s, address: 192.168.1.20 }
  - { name: client-p, site: home-p, address: 192.168.2.20 }
`,
  'two-homes.yaml',
);
const servers = ['198.51.100.7', '198.51.100.8'];

let lab: Lab;
let serverA: number;
let clientResponders: Record<string, number>;
beforeAll(async () => {
  lab = await Lab.up({ name: `network-test-${process.pid}`, topology, agents: false });
  const started = await Promise.all(['server-a', 'server-b', 'client-p', 'client-s'].map(startEcho));
  serverA = started[0] ?? 0;
  clientResponders = { 'client-p': started[2] ?? 0, 'client-s': started[3] ?? 0 };
});
afterAll(async () => {
  await lab.down();
});

const station = (host: string) => lab.host(host).station;
async function startEcho(host: string): Promise<number> {
  const { server } = await station(host).request('echoStart', { protocol: 'UDP', port: 7000, pod: host, node: host });
  return server;
}
const shell = async (host: string, script: string): Promise<string> =>
  (await lab.host(host).exec(['sh', '-c', script])).stdout;
const probe = (host: string, address: string, more: { port?: number; connected?: boolean; sourcePort?: number } = {}) =>
  station(host).request('probe', { protocol: 'UDP', address, port: 7000, timeoutMs: 400, ...more });

/** Packets that the rules with this comment have counted. */
async function counted(host: string, comment: string): Promise<number> {
  const lines = (await shell(host, 'nft list ruleset'))
    .split('\n')
    .filter((line) => line.includes(`comment "${comment}"`));
  expect(lines).toHaveLength(1);
  return Number(/counter packets (\d+)/.exec(lines[0] ?? '')?.[1]);
}

/** Where each server saw one socket of a client. */
async function seenBy(client: string, sourcePort: number): Promise<string[]> {
  const { socket } = await station(client).request('socketOpen', { sourcePort });
  for (const [id, address] of servers.entries()) {
    await station(client).request('socketSend', { socket, address, port: 7000, text: JSON.stringify({ id }) });
  }
  const { datagrams } = await station(client).request('socketReceived', { socket, waitMs: 2000, atLeast: 2 });
  await station(client).request('socketClose', { socket });
  const replies = datagrams.map(({ text }) => JSON.parse(text) as EchoReply);
  expect(replies.map(({ pod }) => pod).sort()).toEqual(['server-a', 'server-b']);
  return replies.map(({ peer, peerPort }) => `${peer}:${peerPort}`);
}

describe('a home router', () => {
  test('symmetric: one socket has another port at each server, and not its own', async () => {
    const seen = await seenBy('client-s', 40_000);
    expect(new Set(seen).size).toBe(2);
    for (const each of seen) expect(each).toMatch(/^192\.0\.2\.2:(?!40000$)\d+$/);
  });

  test('port-restricted: one socket has the port it chose at both servers', async () => {
    expect(await seenBy('client-p', 40_000)).toEqual(['192.0.2.6:40000', '192.0.2.6:40000']);
  });

  test('port-restricted: whom the client has not spoken to does not reach it on the port it has', async () => {
    const client = station('client-p');
    const { socket } = await client.request('socketOpen', { sourcePort: 40_010 });
    await client.request('socketSend', { socket, address: '198.51.100.7', port: 7000, text: '{"id":"a"}' });
    expect((await client.request('socketReceived', { socket, waitMs: 2000, atLeast: 1 })).datagrams).toHaveLength(1);
    const push = { server: serverA, peer: '192.0.2.6', peerPort: 40_010, port: 7000, id: 'known' };
    expect(await probe('server-b', '192.0.2.6', { port: 40_010 })).toMatchObject({ outcome: 'timeout' });
    await station('server-a').request('echoPush', push);
    const { datagrams } = await client.request('socketReceived', { socket, waitMs: 500, atLeast: 2 });
    expect(datagrams.map(({ from }) => from)).toEqual(['198.51.100.7']);
    await client.request('socketClose', { socket });
  });

  test.each([
    ['router-home-s', '192.0.2.2'],
    ['router-home-p', '192.0.2.6'],
  ])('%s drops what nobody asked for, silently, and counts it', async (router, address) => {
    const before = await counted(router, 'unsolicited to the router');
    // A router that refused instead would be heard on a connected socket.
    expect(await probe('server-a', address, { connected: true })).toMatchObject({ outcome: 'timeout' });
    expect(await counted(router, 'unsolicited to the router')).toBe(before + 1);
  });

  test.each([
    ['router-home-s', '192.0.2.2', 'client-s', '192.168.1.20'],
    ['router-home-p', '192.0.2.6', 'client-p', '192.168.2.20'],
  ])('%s drops what a neighbour on the outside routes into its LAN', async (router, address, client, inside) => {
    const before = await counted(router, 'unsolicited to the LAN');
    await shell('internet', `ip route add ${inside}/32 via ${address}`);
    try {
      expect(await probe('server-a', inside)).toMatchObject({ outcome: 'timeout' });
    } finally {
      await shell('internet', `ip route del ${inside}/32`);
    }
    expect(await counted(router, 'unsolicited to the LAN')).toBe(before + 1);
    // An answer would die on the internet for its source: what counts is what the responder saw.
    const server = clientResponders[client] ?? 0;
    expect(await station(client).request('echoSightings', { server })).toEqual({ sightings: [] });
    expect(await probe(client, inside)).toMatchObject({ outcome: 'answered' });
  });
});

describe('the internet', () => {
  /** What server-a saw of one datagram that client `server-b` sent under another source address. */
  async function sentAs(source: string): Promise<string[]> {
    await station('server-a').request('echoSightings', { server: serverA });
    const device = `ip addr add ${source}/32 dev lo; ip route add 203.0.113.3/32 via 198.51.100.1 src ${source}`;
    await shell('server-b', device);
    const { server } = await station('edge').request('echoStart', {
      ...{ protocol: 'UDP', port: 7001, pod: 'edge', node: 'edge', silent: true },
    });
    try {
      await probe('server-b', '203.0.113.3', { port: 7001 });
      const { sightings } = await station('edge').request('echoSightings', { server });
      return sightings.map(({ peer }) => peer);
    } finally {
      await station('edge').request('echoStop', { server });
      await shell('server-b', `ip route del 203.0.113.3/32; ip addr del ${source}/32 dev lo`);
    }
  }

  test.each(['192.168.1.10', '10.244.2.7', '100.64.0.3'])('drops a datagram from %s and counts it', async (source) => {
    const before = await counted('internet', 'anti-spoofing');
    expect(await sentAs(source)).toEqual([]);
    expect(await counted('internet', 'anti-spoofing')).toBe(before + 1);
  });

  test.each([[[]], [['10.0.0.0/8', '10.1.0.0/16']]])('may be told to drop %j', async (drops) => {
    const { nft = '' } = internetSetup({ ...topology, internet: { drops } });
    await lab.host('internet').exec(['nft', '--check', '-f', '-'], { input: nft });
  });

  test('carries a public source, so that what it drops it drops for the prefix alone', async () => {
    const before = await counted('internet', 'anti-spoofing');
    expect(await sentAs('198.51.100.99')).toEqual(['198.51.100.99']);
    expect(await counted('internet', 'anti-spoofing')).toBe(before);
  });
});

describe('the mesh', () => {
  const ping = (from: string, to: string): Promise<string> => shell(from, `ping -q -c 1 -W 2 ${to}`);

  test('a member behind a symmetric NAT reaches the public ones, and they reach it', async () => {
    await ping('worker-s', '100.64.0.1');
    await ping('worker-s', '100.64.0.2');
    await ping('edge', '100.64.0.3');
    await ping('control', '100.64.0.3');
  });

  test('public members know it by the port its router drew, and the port-restricted one by its own', async () => {
    const peers = await shell('edge', 'wg show wt0 dump');
    expect(peers).toMatch(/\t192\.0\.2\.2:(?!51820\t)\d+\t100\.64\.0\.3\/32\t/);
    expect(peers).toMatch(/\t192\.0\.2\.6:51820\t100\.64\.0\.4\/32\t/);
  });

  test('the two homes do not reach each other: no relay is emulated', async () => {
    const handshakes = await shell('worker-s', 'wg show wt0 dump');
    expect(handshakes).toMatch(/\t100\.64\.0\.4\/32\t0\t/);
    expect(handshakes).toMatch(/\t100\.64\.0\.2\/32\t[1-9]\d+\t/);
    // Nobody can say where a member behind a symmetric NAT is.
    expect(await shell('worker-p', 'wg show wt0 dump')).toContain('\t(none)\t100.64.0.3/32\t');
  });
});
