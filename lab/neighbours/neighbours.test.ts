/** What kube-proxy does to packets, and that each neighbour comes and goes without a trace. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Host } from '../backends/host.ts';
import type { CniNode } from '../cni/cni-node.ts';
import { formatIptables, parseIptables } from '../cni/iptables-text.ts';
import { Lab } from '../lab.ts';
import { applyHostSetup } from '../network/host-setup.ts';
import type { ProbeResult, Protocol } from '../station/protocol.ts';
import { loadTopology } from '../topology/load.ts';
import type { Pod } from '../workload/workload.ts';
import { neighbourAbsence } from './absence.ts';
import { kubeProxyServices } from './kube-proxy.ts';
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
let onEdge: Pod;
let onWorker: Pod;

beforeAll(async () => {
  lab = await Lab.up({ name: `neighbours-${process.pid}`, topology, agents: false });
  edge = node('edge-a');
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
    const here = { ...fresh, uplink: { ...fresh.uplink, device: 'eth0' } };
    await applyHostSetup(host, wholeNodeSetup(here, peers, { clusterCidr, neighbours: neighbourNames }));
    expect(await holds(host)).toEqual(await holds(lab.host('edge-d')));
  });
});
