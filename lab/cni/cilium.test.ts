/** The emulation held against the state of a real Cilium node, and against what real packets did there. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packetsBetween, snapshotCounters } from '../evidence/counters.ts';
import { Lab } from '../lab.ts';
import { loadTopology } from '../topology/load.ts';
import type { Pod } from '../workload/workload.ts';
import { cutOut, leftOut, referenceFile, withNodeAddresses } from './cilium-iptables.ts';
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
const reference = (file: string): string =>
  withNodeAddresses(referenceFile('default-kube-proxy', file), edge, topology.pods.cidr);

describe('what a node holds is what a real Cilium node holds', () => {
  test('iptables: chains, rules, comments and their order, but for what is listed as left out', async () => {
    const wanted = reference('iptables-save.txt')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#') && !leftOut.some((each) => each.line.test(line)))
      .map((line) => cutOut.reduce((text, { part }) => text.replaceAll(part, ''), line));
    const normal = (lines: readonly string[]): Record<string, string[]> => {
      const tables: Record<string, string[]> = {};
      let table = '';
      for (const line of lines) {
        if (line.startsWith('*')) table = line;
        else if (line.startsWith('-A')) tables[table] = [...(tables[table] ?? []), line.replaceAll(/ {2,}/g, ' ')];
      }
      return tables;
    };
    const listed = (await shell('edge-a', 'iptables-save')).split('\n');
    expect(normal(listed)).toEqual(normal(wanted));
  });

  test('ip rules 9 and 100, and table 2004', async () => {
    const rules = (await shell('edge-a', 'ip rule')).split('\n');
    // Those of netbird at 105 and 110 are a neighbour's.
    const own = rules.filter((rule) => !/^1(05|10):/.test(rule)).map((rule) => rule.replace(/\s+/g, ' ').trim());
    expect(own).toEqual(
      reference('ip-rule.txt')
        .split('\n')
        .map((rule) => rule.replace(/\s+/g, ' ').trim()),
    );
    expect(await shell('edge-a', 'ip route show table 2004')).toContain('local default dev lo proto kernel scope host');
  });

  test('routes of the pod network: own range and a peer by cilium_host, the peer with the MTU of the tunnel', async () => {
    const routes = (await shell('edge-a', 'ip route show')).split('\n').map((route) => route.trim());
    const [own = '', router = '', remote = ''] = reference('ip-route-all.txt')
      .split('\n')
      .filter((route) => route.includes('cilium_host') && !route.startsWith('local'))
      .map((route) => route.trim());
    expect(routes).toContain(own);
    expect(routes).toContain(router);
    // The reference cluster's underlay carries 1500 bytes, the mesh here 1420.
    const worker = lab.nodes.get('worker-b');
    expect(routes).toContain(remote.replace('10.244.2.0/24', worker?.podCidr ?? '').replace('mtu 1450', 'mtu 1370'));
  });

  test('devices: a NOARP pair with the router address, a tunnel without address, one device per pod', async () => {
    const links = JSON.parse(await shell('edge-a', 'ip -json -details address show')) as {
      ifname: string;
      flags: string[];
      addr_info: { local: string; family: string }[];
    }[];
    const addresses = (name: string): string[] =>
      links
        .find((each) => each.ifname === name)
        ?.addr_info.filter((each) => each.family === 'inet')
        .map((each) => each.local) ?? ['no such device'];
    for (const name of ['cilium_host', 'cilium_net']) {
      expect(links.find((each) => each.ifname === name)?.flags, name).toContain('NOARP');
      expect(reference('ip-addr.txt')).toMatch(new RegExp(`${name}@.*NOARP`));
    }
    expect(addresses('cilium_host')).toEqual([edge.routerAddress]);
    expect(addresses('cilium_net')).toEqual([]);
    expect(addresses('cilium_vxlan')).toEqual([]);
    expect(links.filter((each) => each.ifname.startsWith('lxc'))).toHaveLength(2);
  });

  test('sysctls of its devices', async () => {
    const wanted = reference('sysctl.txt')
      .split('\n')
      .filter((line) => /conf\.cilium_\w+\.(forwarding|rp_filter|accept_local|send_redirects)|ip_forward/.test(line));
    expect(wanted).toHaveLength(13);
    const names = wanted.map((line) => line.split(' ')[0]);
    expect((await shell('edge-a', `sysctl ${names.join(' ')}`)).trim().split('\n')).toEqual(wanted);
  });
});

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
