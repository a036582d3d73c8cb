/** The emulation held against what real packets did on a real Cilium node, in each way in which a node's CNI can differ. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Host } from '../backends/host.ts';
import { type CounterSnapshot, packetsBetween, snapshotCounters } from '../evidence/counters.ts';
import { Lab } from '../lab.ts';
import type { ProbeResult, Protocol } from '../station/protocol.ts';
import { loadTopology } from '../topology/load.ts';
import type { Topology } from '../topology/topology.ts';
import type { Pod } from '../workload/workload.ts';
import type { CniNode } from './cni-node.ts';
import type { CniSwitches } from './switches.ts';

/** Nodes that deviate; the pods of an endpoint-routes CNI say so themselves. */
const deviating: Readonly<Record<string, Partial<CniSwitches>>> = {
  'edge-d': { hostRouting: 'bpf' },
  'worker-c': { masqueradeIntoPodNetwork: true },
};
const loaded = loadTopology('home-edge');
const topology: Topology = {
  ...loaded,
  nodes: loaded.nodes.map((node) => ({ ...node, cni: deviating[node.name] ?? {} })),
};
const clientAddress = topology.clients[0]?.address ?? '';
const ports = [
  { name: 'udp', protocol: 'UDP', port: 3000 },
  { name: 'tcp', protocol: 'TCP', port: 3000 },
] as const;
/** Translated to the pod under test; in the range that netbird's policy admits. */
const dialled = 31700;

let lab: Lab;
let edge: CniNode;
const pods = new Map<string, Pod>();

beforeAll(async () => {
  lab = await Lab.up({ name: `cni-packets-${process.pid}`, topology, agents: false });
  const found = lab.nodes.get('edge-a');
  if (found === undefined) throw new Error('no edge-a');
  edge = found;
  await lab.workload.createNamespace('test');
  const wanted: [string, string, Partial<CniSwitches>?][] = [
    ['on-edge', 'edge-a'],
    ['beside-it', 'edge-a'],
    ['routed', 'edge-a', { endpointRoutes: true }],
    ['on-bpf', 'edge-d'],
    ['on-worker', 'worker-b'],
    ['behind-masquerade', 'worker-c'],
  ];
  for (const [name, node, cni] of wanted)
    pods.set(name, await lab.workload.startPod({ namespace: 'test', name, node, ports, ...(cni && { cni }) }));
});
afterAll(async () => {
  await lab?.down();
});

function pod(name: string): Pod {
  const found = pods.get(name);
  if (found === undefined) throw new Error(`no pod ${name}`);
  return found;
}

const probe = (
  from: Host,
  address: string,
  { port = 3000, protocol = 'UDP', timeoutMs = 1000 }: { port?: number; protocol?: Protocol; timeoutMs?: number } = {},
): Promise<ProbeResult> => from.station.request('probe', { protocol, address, port, timeoutMs });

/** Loads a table until `work` is done; returns the counters before and after it. */
async function withTable(
  host: Host,
  name: string,
  chains: string,
  work: () => Promise<void>,
): Promise<(subject: string) => number> {
  await host.exec(['nft', '-f', '-'], { input: `table ip ${name} {\n${chains}\n}\n` });
  try {
    const before: CounterSnapshot = await snapshotCounters(host);
    await work();
    const after = await snapshotCounters(host);
    return (subject) => packetsBetween(before, after, { subject });
  } finally {
    await host.exec(['nft', 'delete', 'table', 'ip', name]);
  }
}

/** Counts what enters netfilter, by a comment each. Before conntrack, so that nothing is missed. */
const counting = (...rules: [comment: string, match: string][]): string =>
  `  chain count {
    type filter hook prerouting priority -350; policy accept;
${rules.map(([comment, match]) => `    ${match} counter comment "${comment}"`).join('\n')}
  }`;

const translating = (device: string, to: Pod): string =>
  `  chain translate {
    type nat hook prerouting priority dstnat - 10; policy accept;
    iifname "${device}" th dport ${dialled} meta l4proto { tcp, udp } dnat ip to ${to.record.address}:3000
  }`;

async function echoOn(host: Host, port: number, work: () => Promise<void>): Promise<void> {
  const { server } = await host.station.request('echoStart', {
    ...{ protocol: 'UDP', port, pod: 'host', node: host.name },
  });
  try {
    await work();
  } finally {
    await host.station.request('echoStop', { server });
  }
}

describe('pods', () => {
  test("a pod's packet enters prerouting with a mark, 0x0f00 in its low half, another high half for each pod", async () => {
    const host = lab.host('edge-a');
    await withTable(
      host,
      'marks',
      `  set seen { type ipv4_addr . mark; flags dynamic; size 64; }
  chain prerouting { type filter hook prerouting priority -350; policy accept;
    iifname "lxc*" add @seen { ip saddr . meta mark }
  }`,
      async () => {
        for (const name of ['on-edge', 'beside-it'])
          await pod(name).host.exec(['ping', '-c', '1', '-W', '1', edge.routerAddress]);
        const { stdout } = await host.exec(['nft', 'list', 'set', 'ip', 'marks', 'seen']);
        const marks = [...stdout.matchAll(/[\d.]+ \. (0x[0-9a-f]+)/g)].map((match) => Number(match[1]));
        expect(marks).toHaveLength(2);
        expect(new Set(marks).size).toBe(2);
        for (const mark of marks) expect(mark & 0xffff).toBe(0x0f00);
      },
    );
  });

  test.each([
    ['the same node', 'beside-it', 'edge-a'],
    ['another node', 'on-worker', 'worker-b'],
  ])('reach each other on %s under their own addresses, past the netfilter of either node', async (_, to, node) => {
    const from = pod('on-edge');
    const count = counting(
      ['request', `ip saddr ${from.record.address} th dport 3000`],
      ['answer', `ip daddr ${from.record.address} th sport 3000`],
      ['to the node itself', `ip saddr ${from.record.address} icmp type echo-request`],
    );
    const far = { moved: (_subject: string): number => Number.NaN };
    const near = await withTable(lab.host('edge-a'), 'near', count, async () => {
      far.moved = await withTable(lab.host(node), 'far', count, async () => {
        for (const protocol of ['UDP', 'TCP'] as const) {
          const { reply, from: answeredFrom } = await probe(from.host, pod(to).record.address, { protocol });
          expect(reply?.peer).toBe(from.record.address);
          expect(answeredFrom).toBe(pod(to).record.address);
        }
      });
      await from.host.exec(['ping', '-c', '1', '-W', '1', edge.routerAddress]);
    });
    for (const moved of [near, far.moved]) expect([moved('request'), moved('answer')]).toEqual([0, 0]);
    // The counters do count: what is for the node itself passes them.
    expect(near('to the node itself')).toBe(1);
  });

  test("reach the internet under their node's uplink address", async () => {
    await echoOn(lab.host('client-a'), 5000, async () => {
      const { reply } = await probe(pod('on-edge').host, clientAddress, { port: 5000 });
      expect(reply?.peer).toBe(lab.node('edge-a').address);
    });
  });

  test('reach their own node under their own address', async () => {
    await echoOn(lab.host('edge-a'), 5000, async () => {
      for (const address of [edge.routerAddress, edge.meshAddress, edge.uplink.address]) {
        const { reply } = await probe(pod('on-edge').host, address, { port: 5000 });
        expect(reply?.peer, address).toBe(pod('on-edge').record.address);
      }
    });
  });

  test.each([
    ['on-edge', () => edge.routerAddress],
    ['on-worker', () => edge.routerAddress],
    ['on-bpf', () => edge.routerAddress],
    ['behind-masquerade', () => edge.routerAddress],
    // A route straight to the pod's device names no source: the kernel takes the node's first address.
    ['routed', () => edge.uplink.address],
  ])('a node reaches %s, which sees the address that the route names', async (name, seen) => {
    for (const protocol of ['UDP', 'TCP'] as const)
      expect((await probe(lab.host('edge-a'), pod(name).record.address, { protocol })).reply?.peer).toBe(seen());
  });

  test('are delivered what arrives for their address on a foreign device', async () => {
    const internet = lab.host('internet');
    const route = [edge.podCidr, 'via', edge.uplink.address];
    await internet.exec(['ip', 'route', 'add', ...route]);
    await pod('on-edge').sightings();
    await probe(internet, pod('on-edge').record.address);
    await internet.exec(['ip', 'route', 'del', ...route]);
    expect((await pod('on-edge').sightings()).map(({ peer }) => peer)).toEqual([edge.uplink.gateway]);
  });
});

describe('traffic that the node translates to a pod of its own', () => {
  const onEdge = (name: string, work: () => Promise<void>) =>
    withTable(
      lab.host('edge-a'),
      'translate',
      `${translating('enp1s0', pod(name))}
${counting(
  ['in by the uplink', `iifname "enp1s0" th dport ${dialled}`],
  ['out of cilium_net', 'iifname "cilium_net"'],
  ['answer of the pod', `ip saddr ${pod(name).record.address} th sport 3000`],
)}
  chain forward {
    type filter hook forward priority 10; policy accept;
    ip daddr ${pod(name).record.address} oifname "cilium_host" counter comment "to cilium_host"
    ip daddr ${pod(name).record.address} oifname "lxc*" counter comment "to the pod's device"
  }`,
      work,
    );
  const answered = async (protocol: Protocol): Promise<void> => {
    const target = lab.node('edge-a').address;
    const { reply, from } = await probe(lab.host('client-a'), target, { port: dialled, protocol });
    expect([reply?.peer, from]).toEqual([clientAddress, target]);
  };

  test('reaches it with the client, by cilium_host and no second netfilter pass; the answer passes netfilter', async () => {
    const moved = await onEdge('on-edge', () => answered('UDP'));
    expect(moved('in by the uplink')).toBe(1);
    expect(moved('to cilium_host')).toBe(1);
    expect(moved("to the pod's device")).toBe(0);
    expect(moved('out of cilium_net')).toBe(0);
    expect(moved('answer of the pod')).toBe(1);
    await onEdge('on-edge', () => answered('TCP'));
  });

  test('with endpoint routes goes straight to its device', async () => {
    const moved = await onEdge('routed', () => answered('UDP'));
    expect(moved('to cilium_host')).toBe(0);
    expect(moved("to the pod's device")).toBe(1);
    expect(moved('answer of the pod')).toBe(1);
    await onEdge('routed', () => answered('TCP'));
  });

  test.each([
    ['worker-b', 'on-worker', () => edge.meshAddress],
    ['worker-c', 'behind-masquerade', () => lab.nodes.get('worker-c')?.routerAddress],
  ])('on %s (%s) the pod sees what its CNI leaves of the source', async (node, name, seen) => {
    const target = lab.node(node).meshAddress;
    await withTable(lab.host(node), 'translate', translating('wt0', pod(name)), async () => {
      for (const protocol of ['UDP', 'TCP'] as const) {
        const { reply, from } = await probe(lab.host('edge-a'), target, { port: dialled, protocol });
        expect([reply?.peer, from], protocol).toEqual([seen(), target]);
      }
    });
  });

  test('under BPF host routing reaches it, but the answer leaves bare, past netfilter, and conntrack waits for it', async () => {
    const host = lab.host('edge-d');
    const target = pod('on-bpf');
    await target.sightings();
    const moved = await withTable(
      host,
      'translate',
      `${translating('enp1s0', target)}
${counting(['in by the uplink', `th dport ${dialled}`], ['answer of the pod', `ip saddr ${target.record.address} th sport 3000`])}`,
      async () => {
        const { outcome } = await probe(lab.host('client-a'), lab.node('edge-d').address, {
          ...{ port: dialled, timeoutMs: 400 },
        });
        expect(outcome).toBe('timeout');
      },
    );
    expect((await target.sightings()).map(({ peer }) => peer)).toEqual([clientAddress]);
    expect(moved('in by the uplink')).toBe(1);
    expect(moved('answer of the pod')).toBe(0);
    const { stdout } = await host.exec(['conntrack', '-L', '-p', 'udp', '--orig-port-dst', String(dialled)]);
    expect(stdout).toContain('[UNREPLIED]');
  });
});
