import { describe, expect, test } from 'vitest';
import type { PortMapClass } from '../api/types.ts';
import type { ClusterSnapshot } from './snapshot.ts';
import { link, node, planOn, portMap, portMapClass, slice, statusesOf } from './testing/snapshots.ts';

const none = portMapClass({ returnPath: { mode: 'None' } });
const twoNodes = { 'edge-a': { interfaces: ['enp1s0'] }, 'edge-d': { interfaces: ['enp1s0'] } };
const row = (name: string, rest: object = {}) => ({ name, ready: true, message: '', ...rest });

/** The Programmed condition as `reason: message`. */
function programmed(parts: Partial<ClusterSnapshot>): string {
  const statuses = statusesOf(parts);
  expect(statuses).toHaveLength(1);
  const condition = statuses[0]?.conditions.find((each) => each.type === 'Programmed');
  expect(condition?.status).toBe(condition?.reason === 'Programmed' ? 'True' : 'False');
  return `${condition?.reason}: ${condition?.message}`;
}

function withLinks(
  status: PortMapClass['status'],
  vxlan: NonNullable<PortMapClass['spec']['returnPath']['vxlan']> = {},
): PortMapClass {
  return portMapClass({ returnPath: { mode: 'Vxlan', vxlan } }, { status });
}

describe('what stands in the way is said with object, field, value and way out', () => {
  test.each<[string, Partial<ClusterSnapshot>, string]>([
    [
      'no ready endpoint',
      { endpointSlices: [slice([{ node: 'worker-b', ready: false }])] },
      'NoReadyEndpoint: Service games/gameserver has no ready endpoint with a UDP port named "game" (0 of 1): see why its pods are not ready',
    ],
    [
      'no return path, remote pod',
      { classes: [none] },
      'ReturnPathUnavailable: port 3000: pod gameserver-0 is on worker-b, and edge-a would need a link to it, but class public has returnPath.mode None: place the pod on an accepting node, or use a class with mode Vxlan',
    ],
    [
      'no return path, Multi with two nodes and a local pod',
      {
        classes: [portMapClass({ nodes: twoNodes, servingMode: 'Multi', returnPath: { mode: 'None' } })],
        endpointSlices: [slice([{ node: 'edge-a' }])],
      },
      'ReturnPathUnavailable: port 3000: pod gameserver-0 is on edge-a, and edge-d would need a link to it, but class public has returnPath.mode None: place the pod on an accepting node, or use a class with mode Vxlan',
    ],
    [
      'class that cannot be served',
      { classes: [withLinks({}, { subnet: 'nonsense' })] },
      'ReturnPathUnavailable: port 3000: pod gameserver-0 is on worker-b, and edge-a would need a link to it, but class public is not ready: spec.returnPath.vxlan.subnet "nonsense" is no IPv4 network with room for a /31, such as 169.254.77.0/24',
    ],
    [
      'no slot left',
      { classes: [withLinks({ links: [link('edge-a/worker-c', 0)] }, { subnet: '169.254.77.0/31' })] },
      'ReturnPathUnavailable: all 1 link slots of spec.returnPath.vxlan.subnet 169.254.77.0/31 are taken: use a larger subnet, or another class; unused slots are free after 24 hours',
    ],
    [
      "a slot that the class's subnet has become too small for",
      { classes: [withLinks({ links: [link('edge-a/worker-b', 5)] }, { subnet: '169.254.77.0/30' })] },
      'ReturnPathUnavailable: link edge-a/worker-b has slot 5, which spec.returnPath.vxlan.subnet 169.254.77.0/30 of class public has no room for: use a larger subnet',
    ],
    ['slot not yet claimed', {}, 'LinkPending: worker-b has not yet claimed a slot for link edge-a/worker-b'],
    [
      'a node that has no address for links',
      {
        classes: [
          withLinks({
            links: [link('edge-a/worker-b', 0)],
            nodes: [row('worker-b', { ready: false, message: 'underlayInterface wt0 is not on this node' })],
          }),
        ],
      },
      'ReturnPathUnavailable: node worker-b has no address that could carry the link: underlayInterface wt0 is not on this node',
    ],
    [
      'a node that has not yet said which address carries links',
      { classes: [withLinks({ links: [link('edge-a/worker-b', 0)], nodes: [] }, { underlayInterface: 'wt0' })] },
      'ReturnPathUnavailable: node edge-a has no address that could carry the link: it has not reported one yet',
    ],
    [
      'two nodes with one address, one of them at the end of the link',
      {
        classes: [
          withLinks({
            links: [link('edge-a/worker-b', 0)],
            nodes: [
              row('edge-a', { underlayAddress: '100.64.93.143' }),
              row('worker-b', { underlayAddress: '192.168.1.10' }),
              row('worker-c', { underlayAddress: '192.168.1.10' }),
            ],
          }),
        ],
      },
      'ReturnPathUnavailable: nodes worker-b and worker-c both report underlay address 192.168.1.10: set spec.returnPath.vxlan.underlayInterface of class public',
    ],
    [
      'no accepting node in the cluster',
      { nodes: [node('worker-b')] },
      'NodeNotReady: no node of spec.nodes of class public (edge-a) is in the cluster: name one that is',
    ],
    [
      'every accepting node NotReady',
      { nodes: [node('edge-a', false), node('worker-b')], endpointSlices: [slice([{ node: 'edge-a' }])] },
      'NodeNotReady: node edge-a is not Ready and no other accepting node of class public is: bring one back',
    ],
    [
      'not accepted',
      { classes: [portMapClass({ ports: { min: 9000 } })] },
      'NotAccepted: not accepted (PortOutOfRange): port 3000 is outside 9000-65535, which spec.ports of class public gives out: ask for one inside',
    ],
    [
      'a CNI that bypasses the host',
      {
        endpointSlices: [slice([{ node: 'edge-a' }])],
        cniConfig: { 'kube-proxy-replacement': 'true', 'enable-bpf-masquerade': 'true' },
      },
      'CNIBypassesHost: Cilium routes past the network stack of the host (BPF host routing), where replies cannot be sent back: set enable-host-legacy-routing: "true" in ConfigMap kube-system/cilium-config and restart its agents',
    ],
    [
      'no interface of the class on the serving node',
      {
        classes: [portMapClass({ nodes: { 'edge-a': { interfaces: ['eth7'] } } })],
        endpointSlices: [slice([{ node: 'edge-a' }])],
      },
      'NoInterfaceOnNode: node edge-a has no IPv4 address on eth7, which class public lists for it in spec.nodes: name an interface that has one',
    ],
    [
      'narrowed to interfaces of another node',
      {
        classes: [portMapClass({ nodes: { 'edge-a': { interfaces: ['enp1s0'] }, 'edge-d': { interfaces: ['wan'] } } })],
        portMaps: [portMap({ interfaces: ['wan'] })],
        endpointSlices: [slice([{ node: 'edge-a' }])],
      },
      "NoInterfaceOnNode: spec.interfaces (wan) names none that class public has on node edge-a: name one of that node's, or none",
    ],
    ['nothing', { endpointSlices: [slice([{ node: 'edge-a' }])] }, 'Programmed: '],
  ])('%s', (_, parts, expected) => expect(programmed(parts)).toBe(expected));
});

describe('what is not programmed holds no rule', () => {
  test('on any node, without return path', () => {
    for (const name of ['edge-a', 'worker-b']) expect(planOn(name, { classes: [none] }).deliveries).toEqual([]);
  });

  test('where two nodes report one address: neither end of that link is built', () => {
    const ambiguous = withLinks({
      links: [link('edge-a/worker-b', 0)],
      nodes: [
        row('edge-a', { underlayAddress: '100.64.93.143' }),
        row('worker-b', { underlayAddress: '192.168.1.10' }),
        row('worker-c', { underlayAddress: '192.168.1.10' }),
      ],
    });
    for (const name of ['edge-a', 'worker-b'])
      expect(planOn(name, { classes: [ambiguous] })).toMatchObject({ links: [], deliveries: [] });
    // Its row is still written: a corrected address could not be told otherwise.
    expect(planOn('worker-b', { classes: [ambiguous] }).classNodeStatuses).toHaveLength(1);
    // The trouble of those two is not that of others.
    const others = planOn('edge-a', {
      classes: [ambiguous],
      endpointSlices: [slice([{ node: 'edge-a' }])],
    });
    expect(others.deliveries).toHaveLength(1);
    expect(others.portMapStatuses[0]?.conditions[1]).toMatchObject({ status: 'True' });
  });
});

describe('Multi', () => {
  const multi = (links: string[], vxlan = {}) =>
    portMapClass(
      { nodes: twoNodes, servingMode: 'Multi', returnPath: { mode: 'Vxlan', vxlan } },
      {
        status: {
          links: links.map(link),
          nodes: [
            row('edge-a', { underlayAddress: '100.64.93.143', addresses: { enp1s0: '203.0.113.9' } }),
            row('edge-d', { underlayAddress: '100.64.93.146', addresses: { enp1s0: '203.0.113.10' } }),
          ],
        },
      },
    );
  const both = ['edge-a/worker-b', 'edge-d/worker-b'];

  test('answers on every accepting node', () => {
    expect(statusesOf({ classes: [multi(both)] })[0]).toMatchObject({
      addresses: '203.0.113.9, 203.0.113.10',
      published: [
        { node: 'edge-a', interface: 'enp1s0', address: '203.0.113.9' },
        { node: 'edge-d', interface: 'enp1s0', address: '203.0.113.10' },
      ],
    });
  });

  test('answers where the link is, while another is waited for', () => {
    const parts = { classes: [multi(both.slice(0, 1))] };
    expect(programmed(parts)).toBe('LinkPending: worker-b has not yet claimed a slot for link edge-d/worker-b');
    expect(statusesOf(parts)[0]?.addresses).toBe('203.0.113.9');
    expect(planOn('edge-a', parts).deliveries).toHaveLength(1);
    expect(planOn('edge-d', parts).deliveries).toEqual([]);
  });

  test('a subnet that has run out stops only the node without a slot', () => {
    const parts = { classes: [multi(both.slice(0, 1), { subnet: '169.254.77.0/31' })] };
    expect(programmed(parts)).toContain('ReturnPathUnavailable: all 1 link slots');
    expect(statusesOf(parts)[0]?.addresses).toBe('203.0.113.9');
    expect(planOn('edge-a', parts)).toMatchObject({ deliveries: [{ interface: 'enp1s0' }], linkChanges: [] });
  });
});
