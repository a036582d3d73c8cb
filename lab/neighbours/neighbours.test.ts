/** What the neighbours do to packets, and that each comes and goes without a trace. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Host } from '../backends/host.ts';
import type { CniNode } from '../cni/cni-node.ts';
import { formatIptables, parseIptables } from '../cni/iptables-text.ts';
import { packetsBetween, snapshotCounters } from '../evidence/counters.ts';
import { Lab } from '../lab.ts';
import { applyHostSetup } from '../network/host-setup.ts';
import type { ProbeResult, Protocol } from '../station/protocol.ts';
import { loadTopology } from '../topology/load.ts';
import type { Pod } from '../workload/workload.ts';
import { neighbourAbsence } from './absence.ts';
import { kubeProxyServices } from './kube-proxy.ts';
import { netbirdRemoval, netbirdSetup } from './netbird.ts';
import { wholeNodeSetup } from './node-setup.ts';
import { neighbourNames } from './registry.ts';
import type { ServicePort } from './service-rules.ts';

const topology = loadTopology('home-edge');
const clusterCidr = topology.pods.cidr;
const ports = [
  { name: 'udp', protocol: 'UDP', port: 3000 },
  { name: 'tcp', protocol: 'TCP', port: 3000 },
] as const;
const protocols = ['UDP', 'TCP'] as const;

let lab: Lab;
let edge: CniNode;
let worker: CniNode;
let onEdge: Pod;
let onWorker: Pod;

beforeAll(async () => {
  lab = await Lab.up({ name: `neighbours-${process.pid}`, topology, agents: false });
  edge = node('edge-a');
  worker = node('worker-b');
  await lab.workload.createNamespace('test');
  onEdge = await lab.workload.startPod({ namespace: 'test', name: 'one', node: 'edge-a', ports });
  onWorker = await lab.workload.startPod({ namespace: 'test', name: 'two', node: 'worker-b', ports });
});
afterAll(async () => {
  await lab?.down();
});

function node(name: string): CniNode {
  const found = lab.nodes.get(name);
  if (found === undefined) throw new Error(`no node ${name}`);
  return found;
}

const probe = (from: string, address: string, port: number, protocol: Protocol = 'UDP'): Promise<ProbeResult> =>
  lab.host(from).station.request('probe', { protocol, address, port, timeoutMs: 700, connected: false });

/** All that neighbours and CNI have in tables, in its order, without numbers that count. */
async function holds(host: Host): Promise<string[]> {
  const run = async (command: string): Promise<string> => (await host.exec(['sh', '-c', command])).stdout;
  const tables = parseIptables(await run('iptables-save')).sort((a, b) => (a.name < b.name ? -1 : 1));
  const netbird = await run('nft -s list table ip netbird 2>/dev/null || true');
  const rest = await run('ip rule; sysctl net.ipv4.conf.all.src_valid_mark');
  return [...formatIptables(tables).split('\n'), ...netbird.split('\n'), ...rest.trim().split('\n')];
}

describe('kube-proxy', () => {
  const service = (name: string, clusterAddress: string, nodePort: number, pods: readonly Pod[]): ServicePort[] =>
    protocols.map((protocol) => ({
      ...{ namespace: 'test', name, portName: protocol.toLowerCase(), protocol, clusterAddress, port: 80, nodePort },
      endpoints: pods.map(({ record }) => ({ address: record.address, port: 3000 })),
    }));
  let services: ServicePort[];

  beforeAll(async () => {
    services = [
      ...service('local', '10.96.0.11', 30011, [onEdge]),
      ...service('remote', '10.96.0.12', 30012, [onWorker]),
      ...service('both', '10.96.0.13', 30013, [onEdge, onWorker]),
      ...service('none', '10.96.0.14', 30014, []),
    ];
    await applyHostSetup(lab.host('edge-a'), kubeProxyServices(services, { clusterCidr }));
  });
  afterAll(async () => {
    await applyHostSetup(lab.host('edge-a'), kubeProxyServices([], { clusterCidr, previous: services }));
    expect((await lab.host('edge-a').exec(['iptables-save'])).stdout).not.toMatch(/KUBE-(SVC|SEP|EXT)-/);
  });

  test.each([
    [30011, 'of this node', () => onEdge],
    [30012, 'of another node', () => onWorker],
  ])('node port %d reaches the pod %s, which sees the node in place of the client', async (port, _, pod) => {
    const target = lab.node('edge-a').address;
    for (const protocol of protocols) {
      const { reply, from } = await probe('client-a', target, port, protocol);
      expect([reply?.pod, reply?.peer, from], protocol).toEqual([pod().record.name, edge.routerAddress, target]);
    }
  });

  test.each([
    ['10.96.0.11', () => onEdge],
    ['10.96.0.12', () => onWorker],
  ])('the node itself reaches cluster address %s', async (address, pod) => {
    for (const protocol of protocols) {
      const { reply, from } = await probe('edge-a', address, 80, protocol);
      expect([reply?.pod, from], protocol).toEqual([pod().record.name, address]);
    }
  });

  test('a Service with two endpoints reaches both', async () => {
    const seen = new Set<string | undefined>();
    // Each of 40 goes to either with equal chance: that one is never met happens once in 10^12.
    for (let attempt = 0; attempt < 40 && seen.size < 2; attempt++)
      seen.add((await probe('client-a', lab.node('edge-a').address, 30013)).reply?.pod);
    expect([...seen].sort()).toEqual([onEdge.record.name, onWorker.record.name]);
  });

  test.each([
    ['client-a', () => lab.node('edge-a').address, 30014],
    ['edge-a', () => '10.96.0.14', 80],
  ])('from %s a Service without endpoints is refused', async (from, address, port) => {
    expect((await probe(from, address(), port, 'TCP')).outcome).toBe('refused');
  });
});

describe('netbird', () => {
  async function translated(port: number, work: () => Promise<void>): Promise<void> {
    const host = lab.host('edge-a');
    await host.exec(['nft', '-f', '-'], {
      input: `table ip translate {
  chain prerouting {
    type nat hook prerouting priority dstnat - 10; policy accept;
    iifname "wt0" udp dport ${port} dnat ip to ${onEdge.record.address}:3000
  }
}
`,
    });
    await work();
    await host.exec(['nft', 'delete', 'table', 'ip', 'translate']);
  }

  /** How far a counter of netbird's went on edge-a. */
  async function moved(subject: string, work: () => Promise<void>): Promise<number> {
    const before = await snapshotCounters(lab.host('edge-a'));
    await work();
    return packetsBetween(before, await snapshotCounters(lab.host('edge-a')), { subject });
  }

  test('what comes from the mesh and is to be forwarded is dropped unless policy admitted it for this node', async () => {
    const dropped = await moved('mesh traffic that is not for this node', () =>
      translated(7000, async () => {
        expect((await probe('worker-b', edge.meshAddress, 7000)).outcome).toBe('timeout');
      }),
    );
    expect(dropped).toBe(1);
    const admitted = await moved('admitted and translated', () =>
      translated(31000, async () => {
        expect((await probe('worker-b', edge.meshAddress, 31000)).reply?.peer).toBe(worker.meshAddress);
      }),
    );
    expect(admitted).toBe(1);
  });

  test.each([
    [30500, 'answered', 0],
    [7001, 'timeout', 1],
  ])("a node's own port %d is %s to its peers", async (port, outcome, drops) => {
    const host = lab.host('edge-a');
    const { server } = await host.station.request('echoStart', { protocol: 'UDP', port, pod: 'host', node: 'edge-a' });
    const dropped = await moved('no policy admits it', async () => {
      expect((await probe('worker-b', edge.meshAddress, port)).outcome).toBe(outcome);
    });
    expect(dropped).toBe(drops);
    // The responder is there: the internet reaches it by the uplink, which netbird does not guard.
    expect((await probe('client-a', edge.uplink.address, port)).outcome).toBe('answered');
    await host.station.request('echoStop', { server });
  });

  test('writes the whole conntrack mark of flows from the mesh and into it', async () => {
    await translated(31001, async () => {
      expect((await probe('worker-b', edge.meshAddress, 31001)).outcome).toBe('answered');
    });
    const mark = async (host: string): Promise<string | undefined> =>
      / mark=(\d+)/.exec(
        (await lab.host(host).exec(['conntrack', '-L', '-p', 'udp', '--orig-port-dst', '31001'])).stdout,
      )?.[1];
    expect(Number(await mark('edge-a'))).toBe(0x1bd10);
    expect(Number(await mark('worker-b'))).toBe(0x1bd11);
  });

  test.each([
    [4790, true],
    [4999, false],
  ])('a VXLAN link over UDP %d passes only where policy admits its port: %s', async (port, passes) => {
    const ends = [
      { host: lab.host('edge-a'), own: edge, peer: worker, address: '169.254.99.0/31' },
      { host: lab.host('worker-b'), own: worker, peer: edge, address: '169.254.99.1/31' },
    ];
    for (const { host, own, peer, address } of ends)
      await applyHostSetup(host, {
        ip: [
          `link add lab-link type vxlan id 99 local ${own.meshAddress} remote ${peer.meshAddress} dstport ${port}`,
          `addr add ${address} dev lab-link`,
          'link set lab-link up',
        ],
      });
    const ping = ['ping', '-c', '1', '-W', '1', '169.254.99.1'];
    const { code } = await lab.host('edge-a').exec(ping, { allowFailure: true });
    for (const { host } of ends) await host.exec(['ip', 'link', 'del', 'lab-link']);
    expect(code === 0).toBe(passes);
  });

  test('enforces the policy it is given', async () => {
    const host = lab.host('edge-a');
    const { server } = await host.station.request('echoStart', {
      ...{ protocol: 'UDP', port: 7002, pod: 'host', node: 'edge-a' },
    });
    expect((await probe('worker-b', edge.meshAddress, 7002)).outcome).toBe('timeout');
    await applyHostSetup(host, netbirdRemoval(edge));
    await applyHostSetup(host, netbirdSetup(edge, [{ protocol: 'udp', ports: [8472, [7000, 7010]] }]));
    expect((await probe('worker-b', edge.meshAddress, 7002)).outcome).toBe('answered');
    await applyHostSetup(host, netbirdRemoval(edge));
    await applyHostSetup(host, netbirdSetup(edge));
    await host.station.request('echoStop', { server });
  });
});

describe('leaving out', () => {
  test.each([
    ['netbird', /netbird|0x1bd|wt0|7120|valid_mark = 1/, /KUBE-|CILIUM/],
    ['kube-proxy', /KUBE-/, /netbird|CILIUM/],
  ] as const)('%s takes away its own and nothing else, and it comes back as it was', async (name, own, others) => {
    const host = lab.host('edge-a');
    const before = await holds(host);
    const { remove, restore } = neighbourAbsence(name, edge, { clusterCidr });
    await applyHostSetup(host, remove);
    const without = await holds(host);
    expect(without.filter((line) => own.test(line))).toEqual([]);
    const kept = (lines: readonly string[]) => lines.filter((line) => others.test(line) && !own.test(line));
    expect(kept(without)).toEqual(kept(before));
    expect(kept(before).length).toBeGreaterThan(10);
    await applyHostSetup(host, restore);
    // kube-proxy puts its rules before whatever is there: netbird's, which came after it, now stand behind them.
    const comparable = (lines: readonly string[]) =>
      name === 'kube-proxy' ? lines.filter((line) => !/^-A (INPUT|FORWARD) -[io] wt0 /.test(line)) : lines;
    expect(comparable(await holds(host))).toEqual(comparable(before));
  });

  test('a node set up in one go holds what one set up part by part does', async () => {
    // A host without a mesh and, in place of it, a cable of that name.
    const host = lab.host('client-b');
    await applyHostSetup(host, {
      ip: ['link add wt0 type veth peer name mesh', 'link set wt0 up', 'link set mesh up'],
    });
    const fresh = node('edge-d');
    const peers = [...lab.nodes.values()].filter((each) => each !== fresh);
    await applyHostSetup(host, wholeNodeSetup(fresh, peers, { clusterCidr, neighbours: neighbourNames }));
    expect(await holds(host)).toEqual(await holds(lab.host('edge-d')));
  });
});
