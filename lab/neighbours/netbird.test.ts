/** netbird's rules on a lab node, judged by packets that come in by the mesh. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Lab } from '../lab.ts';
import { applyHostSetup } from '../network/host-setup.ts';
import type { Protocol } from '../station/protocol.ts';
import { loadTopology } from '../topology/load.ts';
import type { Pod } from '../workload/workload.ts';
import { type MeshPolicy, netbirdRemoval, netbirdSetup } from './netbird.ts';

const edge = '100.64.93.143';

let lab: Lab;
let pod: Pod;
beforeAll(async () => {
  lab = await Lab.up({ name: `netbird-test-${process.pid}`, topology: loadTopology('home-edge'), agents: false });
  await lab.workload.createNamespace('test');
  pod = await lab.workload.startPod({
    ...{ namespace: 'test', name: 'one', node: 'edge-a', ports: [{ name: 'udp', protocol: 'UDP', port: 3000 }] },
  });
});
afterAll(async () => {
  await lab.down();
});

const shell = async (script: string): Promise<string> => (await lab.host('edge-a').exec(['sh', '-c', script])).stdout;
const probe = (from: string, protocol: Protocol, address: string, port: number) =>
  lab.host(from).station.request('probe', { protocol, address, port, timeoutMs: 500 });

/** Packets that the rule with this comment has counted. */
async function counted(comment: string): Promise<number> {
  const lines = (await shell('nft list table ip netbird')).split('\n').filter((line) => line.includes(comment));
  expect(lines).toHaveLength(1);
  return Number(/counter packets (\d+)/.exec(lines[0] ?? '')?.[1]);
}

/** A responder of edge-a itself for as long as `during` takes. */
async function withEcho(protocol: Protocol, port: number, during: () => Promise<void>): Promise<void> {
  const { station } = lab.host('edge-a');
  const { server } = await station.request('echoStart', { protocol, port, pod: 'none', node: 'edge-a' });
  try {
    await during();
  } finally {
    await station.request('echoStop', { server });
  }
}

describe('to the node itself', () => {
  test.each([
    ['UDP', 4790],
    ['TCP', 10_250],
  ] as const)("%s %i, which the policy names (the links' port, the kubelet's), is admitted", (protocol, port) =>
    withEcho(protocol, port, async () => {
      expect(await probe('worker-b', protocol, edge, port)).toMatchObject({ outcome: 'answered', from: edge });
    }),
  );

  test.each([
    ['UDP', 9999],
    ['TCP', 9999],
  ] as const)(
    '%s %i, which no policy names, is dropped on the mesh interface and counted, and only there',
    (protocol, port) =>
      withEcho(protocol, port, async () => {
        const before = await counted('no policy admits it');
        expect(await probe('worker-b', protocol, edge, port)).toMatchObject({ outcome: 'timeout' });
        expect(await counted('no policy admits it')).toBeGreaterThan(before);
        expect(await probe('client-a', protocol, '203.0.113.9', port)).toMatchObject({ outcome: 'answered' });
      }),
  );

  test('answers to what the node itself asks come in', async () => {
    const { station } = lab.host('worker-b');
    const { server } = await station.request('echoStart', {
      protocol: 'UDP',
      port: 4790,
      pod: 'none',
      node: 'worker-b',
    });
    expect(await probe('edge-a', 'UDP', '100.64.93.144', 4790)).toMatchObject({ outcome: 'answered' });
    await station.request('echoStop', { server });
  });

  test.each([
    ['edge-a', 'from the mesh', 0x1bd10],
    ['worker-b', 'into the mesh', 0x1bd11],
  ])("on %s a new flow %s carries netbird's conntrack mark, and nobody else's bits", (host, _, mark) =>
    withEcho('UDP', 4790, async () => {
      const { sourcePort } = await probe('worker-b', 'UDP', edge, 4790);
      const entries = (await lab.host(host).exec(['conntrack', '-L', '-p', 'udp'])).stdout.split('\n');
      expect(entries.find((entry) => entry.includes(`sport=${sourcePort} dport=4790`))).toMatch(
        new RegExp(` mark=${mark} `),
      );
    }),
  );

  test('another policy admits other ports', async () => {
    const node = lab.nodes.get('edge-a');
    if (node === undefined) throw new Error('no edge-a');
    const host = lab.host('edge-a');
    const replace = async (policy?: MeshPolicy): Promise<void> => {
      await applyHostSetup(host, netbirdRemoval(node));
      await applyHostSetup(host, netbirdSetup(node, policy));
    };
    await withEcho('UDP', 7002, async () => {
      expect(await probe('worker-b', 'UDP', edge, 7002)).toMatchObject({ outcome: 'timeout' });
      await replace([{ protocol: 'udp', ports: [8472, [7000, 7010]] }]);
      expect(await probe('worker-b', 'UDP', edge, 7002)).toMatchObject({ outcome: 'answered' });
      await replace();
    });
  });
});

test.each([
  [4790, true],
  [4999, false],
])('a VXLAN link over UDP %d passes only where policy admits its port: %s', async (port, passes) => {
  const ends = [
    { name: 'edge-a', peer: 'worker-b', address: '169.254.99.0/31' },
    { name: 'worker-b', peer: 'edge-a', address: '169.254.99.1/31' },
  ];
  for (const { name, peer, address } of ends)
    await applyHostSetup(lab.host(name), {
      ip: [
        `link add lab-link type vxlan id 99 local ${lab.node(name).meshAddress} remote ${lab.node(peer).meshAddress} dstport ${port}`,
        `addr add ${address} dev lab-link`,
        'link set lab-link up',
      ],
    });
  const { code } = await lab
    .host('edge-a')
    .exec(['ping', '-c', '1', '-W', '1', '169.254.99.1'], { allowFailure: true });
  for (const { name } of ends) await lab.host(name).exec(['ip', 'link', 'del', 'lab-link']);
  expect(code === 0).toBe(passes);
});

describe('translated to a pod and forwarded', () => {
  async function translated(port: number, during: () => Promise<void>): Promise<void> {
    await shell(`nft -f - <<'RULES'
table ip translation {
  chain prerouting {
    type nat hook prerouting priority dstnat;
    ip daddr ${edge} udp dport ${port} dnat to ${pod.record.address}:3000
  }
}
RULES`);
    try {
      await during();
    } finally {
      await shell('nft delete table ip translation');
    }
  }

  test('without the mark of what the policy admits it is dropped and counted', () =>
    translated(7000, async () => {
      const before = await counted('mesh traffic that is not for this node');
      expect(await probe('worker-b', 'UDP', edge, 7000)).toMatchObject({ outcome: 'timeout' });
      expect(await counted('mesh traffic that is not for this node')).toBe(before + 1);
    }));

  test('with it the pod answers', () =>
    translated(4790, async () => {
      const before = await counted('admitted and translated');
      expect(await probe('worker-b', 'UDP', edge, 4790)).toMatchObject({ outcome: 'answered', from: edge });
      expect(await counted('admitted and translated')).toBe(before + 1);
    }));
});
