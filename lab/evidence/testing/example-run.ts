/** A run with every kind of thing in it, for the tests and for looking at the page while it is being drawn. */
import type { Check, Exchange, Run, ScenarioResult } from '../results.ts';
import type { TopologyPicture } from '../topology-picture.ts';

export const EXAMPLE_TOPOLOGY: TopologyPicture = {
  name: 'home-edge',
  sites: [
    { name: 'datacenter-1', kind: 'public' },
    {
      name: 'home-b',
      kind: 'home',
      router: { name: 'router-b', nat: 'port-restricted', wanAddress: '192.0.2.21', lanAddress: '192.168.1.1' },
      lan: '192.168.1.0/24',
    },
    {
      name: 'home-c',
      kind: 'home',
      router: { name: 'router-c', nat: 'symmetric', wanAddress: '192.0.2.31', lanAddress: '192.168.1.1' },
      lan: '192.168.1.0/24',
    },
    { name: 'datacenter-2', kind: 'public' },
    {
      name: 'cafe',
      kind: 'home',
      router: { name: 'router-cafe', nat: 'port-restricted', wanAddress: '192.0.2.77', lanAddress: '10.9.0.1' },
      lan: '10.9.0.0/24',
    },
  ],
  nodes: [
    node('edge-a', 'datacenter-1', 'enp1s0', '203.0.113.9', '100.64.93.143', '10.244.18.0/24'),
    node('control', 'datacenter-1', 'enp1s0', '203.0.113.10', '100.64.93.140', null),
    {
      ...node('worker-b', 'home-b', 'eth0', '192.168.1.20', '100.64.93.144', '10.244.19.0/24'),
      pods: [{ name: 'echo-1', address: '10.244.19.107' }],
    },
    node('worker-c', 'home-c', 'eth0', '192.168.1.20', '100.64.93.145', '10.244.20.0/24'),
    node('edge-d', 'datacenter-2', 'enp1s0', '203.0.113.65', '100.64.93.146', '10.244.21.0/24'),
  ],
  clients: [
    { name: 'client-a', address: '198.51.100.7' },
    { name: 'client-b', site: 'cafe', address: '10.9.0.7' },
  ],
  mesh: { interface: 'wt0', implementation: 'wireguard-go', mtu: 1420 },
};

function node(
  name: string,
  site: string,
  device: string,
  address: string,
  meshAddress: string,
  podCidr: string | null,
): TopologyPicture['nodes'][number] {
  const role = podCidr === null ? 'control' : 'node';
  return { name, site, role, interface: device, address, meshAddress, podCidr };
}

function exchange(change: Partial<Exchange> = {}): Exchange {
  return {
    client: 'client-a',
    protocol: 'UDP',
    dialled: '203.0.113.9:3000',
    source: '198.51.100.7:40001',
    acceptingNode: 'edge-a',
    answerFrom: '203.0.113.9:3000',
    podSaw: '198.51.100.7:40001',
    pod: 'echo-1',
    node: 'worker-b',
    roundTripMs: 0.42,
    outcome: 'answered',
    ...change,
  };
}

const clientB = {
  client: 'client-b',
  source: '10.9.0.7:51334',
  podSaw: '192.0.2.77:51334',
} as const satisfies Partial<Exchange>;

const lost = {
  answerFrom: null,
  podSaw: null,
  pod: null,
  node: null,
  roundTripMs: null,
  outcome: 'timeout',
} as const satisfies Partial<Exchange>;

function check(title: string, expected: string, seen = expected, kind: Check['kind'] = 'assertion'): Check {
  return { title, kind, expected, seen, ok: expected === seen };
}

function scenario(change: Pick<ScenarioResult, 'name' | 'sentence'> & Partial<ScenarioResult>): ScenarioResult {
  return { verdict: 'passed', milliseconds: 800, checks: [], exchanges: [], counters: [], ...change };
}

export const EXAMPLE_RUN: Run = {
  startedAt: '2025-12-01T10:48:12.331Z',
  topology: EXAMPLE_TOPOLOGY,
  backend: 'netns',
  versions: {
    kernel: '6.18.5',
    nft: '1.0.6',
    iproute2: '6.1.0',
    wireguard: 'wireguard-go 0.0.20',
    node: '20.20.2',
  },
  phases: [
    { name: 'preflight', milliseconds: 210 },
    { name: 'namespaces', milliseconds: 95 },
    { name: 'network', milliseconds: 380 },
    { name: 'mesh', milliseconds: 540 },
    { name: 'API and agents', milliseconds: 2_910 },
    { name: 'scenarios', milliseconds: 31_400 },
    { name: 'take-down', milliseconds: 320 },
  ],
  scenarios: [
    scenario({
      name: 'single/same-node',
      sentence: 'A datagram to the node that holds the pod reaches it with the client’s own address.',
      milliseconds: 612,
      checks: [
        check('the pod saw client-a', '198.51.100.7:40001'),
        check('the answer came from the dialled address', '203.0.113.9:3000'),
      ],
      exchanges: [exchange({ node: 'edge-a', roundTripMs: 0.19 }), exchange({ node: 'edge-a', protocol: 'TCP' })],
    }),
    scenario({
      name: 'single/cross-node',
      sentence:
        'A pod behind a home router, reached through an edge node’s public address, sees the client’s own address and answers from the dialled one.',
      milliseconds: 1_240,
      checks: [
        check(
          'a direct probe of the pod’s port inside the cluster answers',
          'answered',
          'answered',
          'positive control',
        ),
        check('the pod saw client-a', '198.51.100.7:40001'),
        check('the pod saw client-b as its router sends it', '192.0.2.77:51334'),
        check('the answer came from the dialled address', '203.0.113.9:3000'),
        check('no transmit errors on the link', '0', '0', 'negative'),
      ],
      exchanges: [
        exchange(),
        exchange({ source: '198.51.100.7:40002', podSaw: '198.51.100.7:40002', roundTripMs: 0.37 }),
        exchange({ source: '198.51.100.7:40003', podSaw: '198.51.100.7:40003', roundTripMs: 0.51 }),
        exchange({ protocol: 'TCP', roundTripMs: 0.88 }),
        exchange({ ...clientB, roundTripMs: 0.61 }),
      ],
      counters: [
        {
          host: 'edge-a',
          about: '5 exchanges',
          rows: [
            {
              kind: 'element',
              place: 'ip kuport @ports',
              subject: 'enp1s0 . udp . 3000 (games/echo)',
              before: { packets: 12, bytes: 1_104 },
              after: { packets: 16, bytes: 1_472 },
            },
            {
              kind: 'element',
              place: 'ip kuport @ports',
              subject: 'enp1s0 . tcp . 3000 (games/echo)',
              before: { packets: 2, bytes: 120 },
              after: { packets: 3, bytes: 180 },
            },
            {
              kind: 'link',
              place: 'kup-5f3a91c0',
              subject: 'tx errors',
              before: { packets: 0, bytes: null },
              after: { packets: 0, bytes: null },
            },
          ],
        },
        {
          host: 'worker-b',
          rows: [
            {
              kind: 'rule',
              place: 'ip kuport kup-mangle',
              subject: 'restore the mark of replies',
              text: 'iifname != "kup-*" ct direction reply ct mark & 0xffff0000 == 0x6b700000 meta mark set ct mark',
              before: { packets: 40, bytes: 9_200 },
              after: { packets: 52, bytes: 11_960 },
            },
          ],
        },
      ],
    }),
    scenario({
      name: 'single/follows-the-pod',
      sentence:
        'A mapping follows its pod from worker-b to worker-c to edge-a, and a client keeps dialling one address.',
      verdict: 'failed',
      reason: 'the pod on worker-c answers: expected answered, seen timeout (and 1 more)',
      milliseconds: 4_830,
      checks: [
        check('the pod on worker-b answers', 'answered', 'answered', 'positive control'),
        check('the pod on worker-c answers', 'answered', 'timeout'),
        check('the answer came from the dialled address', '203.0.113.9:3000', '192.0.2.31:3000'),
      ],
      exchanges: [
        exchange(),
        exchange({ ...lost, protocol: 'UDP', source: '198.51.100.7:40010' }),
        exchange({
          source: '198.51.100.7:40011',
          podSaw: '198.51.100.7:40011',
          node: 'worker-c',
          answerFrom: '192.0.2.31:3000',
          roundTripMs: 0.72,
        }),
      ],
      counters: [
        {
          host: 'worker-c',
          about: '10 probes from client-a',
          rows: [
            {
              kind: 'link',
              place: 'kup-5f3a91c0',
              subject: 'tx errors',
              before: { packets: 0, bytes: null },
              after: { packets: 10, bytes: null },
            },
            {
              kind: 'link',
              place: 'kup-5f3a91c0',
              subject: 'collisions',
              before: { packets: 0, bytes: null },
              after: { packets: 10, bytes: null },
            },
          ],
        },
      ],
      evidenceFolder: 'evidence/single/follows-the-pod',
      diagnosis:
        'tx_errors and collisions on kup-5f3a91c0 rose by one per probe: the outer packet carries the mark and is routed back into the link. The loop guard (pref 101) for 100.64.93.143 is missing on worker-c.',
      failure: {
        message: 'the pod on worker-c answers: expected answered, seen timeout',
        stack:
          'Error: the pod on worker-c answers: expected answered, seen timeout\n    at followsThePod (scenarios/single/follows-the-pod.ts:41:9)\n    at async runScenario (lab/scenario/run.ts:88:5)',
      },
    }),
    scenario({
      name: 'single/port-range',
      sentence: 'First, middle and last port of a range are delivered, and the one after it is not.',
      milliseconds: 2_015,
      checks: [
        check('27015, 27065 and 27115 answer', '3 answers', '3 answers', 'positive control'),
        check('27116 stays silent', 'timeout', 'timeout', 'negative'),
      ],
      exchanges: [
        exchange({ dialled: '203.0.113.9:27015', answerFrom: '203.0.113.9:27015' }),
        exchange({ dialled: '203.0.113.9:27116', ...lost }),
      ],
    }),
    scenario({
      name: 'none/refuses-remote',
      sentence: 'Without a return path, a mapping that would need one is refused whole, with no rule on any node.',
      verdict: 'error',
      reason:
        'positive control failed, so nothing else here was measured: a local mapping answers: expected answered, seen refused',
      milliseconds: 1_003,
      checks: [check('a local mapping answers', 'answered', 'refused', 'positive control')],
      exchanges: [exchange({ ...lost, outcome: 'refused', roundTripMs: null })],
      evidenceFolder: 'evidence/none/refuses-remote',
    }),
    scenario({
      name: 'none/kernel-wireguard',
      sentence: 'The same holds on kernel WireGuard.',
      verdict: 'skipped',
      reason: 'this kernel has no WireGuard; the mesh runs on wireguard-go',
      milliseconds: 0,
    }),
  ],
};
