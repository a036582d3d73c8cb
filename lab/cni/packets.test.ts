/** The emulation held against what real packets did on a real Cilium node. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packetsBetween, snapshotCounters } from '../evidence/counters.ts';
import { Lab } from '../lab.ts';
import { loadTopology } from '../topology/load.ts';
import type { Pod } from '../workload/workload.ts';
import type { CniNode } from './cni-node.ts';

const topology = loadTopology('home-edge');
const ports = [
  { name: 'udp', protocol: 'UDP', port: 3000 },
  { name: 'tcp', protocol: 'TCP', port: 3000 },
] as const;

let lab: Lab;
let edge: CniNode;
let podOnEdge: Pod;
let secondOnEdge: Pod;
let podOnWorker: Pod;

beforeAll(async () => {
  lab = await Lab.up({ name: `cni-test-${process.pid}`, topology, agents: false });
  const found = lab.nodes.get('edge-a');
  if (found === undefined) throw new Error('no edge-a');
  edge = found;
  await lab.workload.createNamespace('test');
  podOnEdge = await lab.workload.startPod({ namespace: 'test', name: 'one', node: 'edge-a', ports });
  secondOnEdge = await lab.workload.startPod({ namespace: 'test', name: 'two', node: 'edge-a', ports });
  podOnWorker = await lab.workload.startPod({ namespace: 'test', name: 'three', node: 'worker-b', ports });
});
afterAll(async () => {
  await lab.down();
});

const shell = async (host: string, script: string): Promise<string> =>
  (await lab.host(host).exec(['sh', '-c', script])).stdout;

describe('what packets do is what they did there', () => {
  const probe = (from: Pod, to: Pod) =>
    from.host.station.request('probe', { protocol: 'UDP', address: to.record.address, port: 3000, timeoutMs: 1000 });

  test("a pod's packet enters prerouting with a mark, 0x0f00 in its low half, another high half for each pod", async () => {
    await lab.host('edge-a').exec(['nft', '-f', '-'], {
      input: `table ip marks { set seen { type ipv4_addr . mark; flags dynamic; size 64; }
 chain prerouting { type filter hook prerouting priority -350; policy accept;
  iifname "lxc*" add @seen { ip saddr . meta mark }
 }
}
`,
    });
    for (const pod of [podOnEdge, secondOnEdge])
      await pod.host.exec(['ping', '-c', '1', '-W', '1', edge.routerAddress]);
    const marks = [...(await shell('edge-a', 'nft list set ip marks seen')).matchAll(/([\d.]+) \. (0x[0-9a-f]+)/g)].map(
      (match) => match[2] ?? '',
    );
    expect(marks).toHaveLength(2);
    expect(new Set(marks).size).toBe(2);
    for (const mark of marks) expect(Number(mark) & 0xffff).toBe(0x0f00);
  });

  test.each([
    ['same node', () => secondOnEdge],
    ['other node', () => podOnWorker],
  ])("pod to pod, %s: original addresses, and the node's netfilter sees none of it", async (_, to) => {
    const before = await shell('edge-a', 'conntrack -L 2>/dev/null | grep -c "dport=3000" || true');
    const { reply } = await probe(podOnEdge, to());
    expect(reply?.peer).toBe(podOnEdge.record.address);
    expect(await shell('edge-a', 'conntrack -L 2>/dev/null | grep -c "dport=3000" || true')).toBe(before);
  });

  test("a pod reaches the internet under its node's uplink address", async () => {
    const client = lab.host('client-a');
    const { server } = await client.station.request('echoStart', {
      protocol: 'UDP',
      port: 5000,
      pod: 'outside',
      node: 'client-a',
    });
    const address = topology.clients[0]?.address ?? '';
    const { reply } = await podOnEdge.host.station.request('probe', {
      protocol: 'UDP',
      address,
      port: 5000,
      timeoutMs: 1000,
    });
    await client.station.request('echoStop', { server });
    expect(reply?.peer).toBe(lab.node('edge-a').address);
  });

  test('a node reaches its pods and those of others', async () => {
    for (const pod of [podOnEdge, podOnWorker]) {
      const { outcome } = await lab
        .host('edge-a')
        .station.request('probe', { protocol: 'TCP', address: pod.record.address, port: 3000, timeoutMs: 1000 });
      expect(outcome).toBe('answered');
    }
  });

  test('a packet for a pod that arrives on a foreign device is delivered, the way to the pod passes no netfilter again', async () => {
    const host = lab.host('edge-a');
    await host.exec(['nft', '-f', '-'], {
      input: `table ip translate { chain prerouting { type nat hook prerouting priority dstnat - 10; policy accept;
  iifname "enp1s0" udp dport 7000 dnat to ${podOnEdge.record.address}:3000
 }
 chain count { type filter hook prerouting priority -350; policy accept;
  iifname "enp1s0" udp dport 7000 counter comment "in by the uplink"
  iifname "cilium_net" counter comment "out of cilium_net"
 }
}
`,
    });
    const before = await snapshotCounters(host);
    const { reply, from } = await lab
      .host('client-a')
      .station.request('probe', { protocol: 'UDP', address: lab.node('edge-a').address, port: 7000, timeoutMs: 1000 });
    const after = await snapshotCounters(host);
    // Inside its own range Cilium rewrites nothing: the pod sees the client, with no rule of anybody's to exempt it.
    expect(reply?.peer).toBe(topology.clients[0]?.address);
    expect(from).toBe(lab.node('edge-a').address);
    expect(packetsBetween(before, after, { subject: 'in by the uplink' })).toBe(1);
    expect(packetsBetween(before, after, { subject: 'out of cilium_net' })).toBe(0);
    await host.exec(['nft', 'delete', 'table', 'ip', 'translate']);
  });
});
