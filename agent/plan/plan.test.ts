import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Condition } from '../api/types.ts';
import { chooseEndpoint } from './endpoints.ts';
import { freeSlot, linkDevice, slotSubnet } from './links.ts';
import { assignMarks } from './marks.ts';
import type { NodePlan } from './node-plan.ts';
import { plan } from './plan.ts';
import { servingNode } from './serving.ts';
import type { ClusterSnapshot } from './snapshot.ts';
import { host, link, node, portMap, portMapClass, slice, snapshot } from './testing/snapshots.ts';

const now = Date.parse('2026-02-01T00:00:00Z');
const planOn = (name: string, parts: Partial<ClusterSnapshot> = {}): NodePlan =>
  plan(snapshot(parts), name, host(name), now);

/** The Programmed condition, from whichever node writes it. */
function programmed(parts: Partial<ClusterSnapshot>): Condition | undefined {
  const statuses = snapshot(parts).nodes.flatMap((each) => planOn(each.metadata?.name ?? '', parts).portMapStatuses);
  expect(statuses).toHaveLength(1);
  return statuses[0]?.conditions.find((each) => each.type === 'Programmed');
}

const claimed = portMapClass(
  {},
  {
    status: {
      links: [link('edge-a/worker-b', 3)],
      nodes: [{ name: 'worker-b', ready: true, message: '', underlayAddress: '100.64.93.144', underlayMTU: 1380 }],
    },
  },
);

describe('where the pod is on another node', () => {
  test("before the slot is recorded the pod's node claims it and nothing is programmed", () => {
    expect(planOn('worker-b').claims).toEqual([
      { className: 'public', key: 'edge-a/worker-b', peers: ['edge-a', 'worker-b'], foreignVnis: [] },
    ]);
    for (const name of ['edge-a', 'worker-b'])
      expect(planOn(name)).toMatchObject({ links: [], deliveries: [], returnPaths: [] });
    expect(planOn('edge-a').claims).toEqual([]);
    expect(programmed({})).toMatchObject({ status: 'False', reason: 'LinkPending' });
  });

  test('the accepting node sends to the far end of the link, the MTU is that of the smaller underlay less 50', () => {
    const edge = planOn('edge-a', { classes: [claimed] });
    expect(edge.links).toEqual([
      {
        device: linkDevice('public', 'worker-b'),
        className: 'public',
        peer: 'worker-b',
        vni: 4245,
        port: 4790,
        underlayAddress: '100.64.93.143',
        peerUnderlayAddress: '100.64.93.144',
        address: '169.254.77.6',
        peerAddress: '169.254.77.7',
        mtu: 1330,
      },
    ]);
    expect(edge.deliveries).toMatchObject([
      { interface: 'enp1s0', targetAddress: '169.254.77.7', targetPort: 3000, targetIsPod: false },
    ]);
    expect(edge.returnPaths).toEqual([]);
  });

  test("the pod's node delivers from the link and has the way back", () => {
    const worker = planOn('worker-b', { classes: [claimed] });
    const device = linkDevice('public', 'edge-a');
    expect(worker.deliveries).toMatchObject([
      {
        interface: device,
        targetAddress: '10.244.18.107',
        targetPort: 3000,
        dialledAddresses: ['169.254.77.7'],
        targetIsPod: true,
      },
    ]);
    expect(worker.returnPaths).toMatchObject([
      { device, address: '169.254.77.7', peerAddress: '169.254.77.6', peerUnderlayAddress: '100.64.93.143' },
    ]);
  });

  test('another port of the pod is written on its own node only', () => {
    const parts = { classes: [claimed], endpointSlices: [slice([{ node: 'worker-b' }], 7777)] };
    expect(planOn('edge-a', parts).deliveries[0]?.targetPort).toBe(3000);
    expect(planOn('worker-b', parts).deliveries[0]?.targetPort).toBe(7777);
  });

  test.each(['edge-d', 'worker-c'])('%s holds nothing', (name) => {
    expect(planOn(name, { classes: [claimed] })).toMatchObject({
      links: [],
      deliveries: [],
      returnPaths: [],
      portMapStatuses: [],
    });
  });
});

describe('what stands in the way is said', () => {
  const none = portMapClass({ returnPath: { mode: 'None' } });
  const twoNodes = { 'edge-a': { interfaces: ['enp1s0'] }, 'edge-d': { interfaces: ['enp1s0'] } };
  test.each<[string, Partial<ClusterSnapshot>, string]>([
    ['no ready endpoint', { endpointSlices: [slice([{ node: 'worker-b', ready: false }])] }, 'NoReadyEndpoint'],
    ['no return path, remote pod', { classes: [none] }, 'ReturnPathUnavailable'],
    [
      'no return path, Multi with two nodes and a local pod',
      {
        classes: [portMapClass({ nodes: twoNodes, servingMode: 'Multi', returnPath: { mode: 'None' } })],
        endpointSlices: [slice([{ node: 'edge-a' }])],
      },
      'ReturnPathUnavailable',
    ],
    [
      'class that cannot be served',
      { classes: [portMapClass({ returnPath: { mode: 'Vxlan', vxlan: { subnet: 'nonsense' } } })] },
      'ReturnPathUnavailable',
    ],
    ['no accepting node in the cluster', { nodes: [node('worker-b')] }, 'NodeNotReady'],
    [
      'every accepting node NotReady',
      { nodes: [node('edge-a', false), node('worker-b')], endpointSlices: [slice([{ node: 'edge-a' }])] },
      'NodeNotReady',
    ],
    ['not accepted', { classes: [portMapClass({ ports: { min: 9000 } })] }, 'NotAccepted'],
  ])('%s: %#', (_, parts, reason) => {
    expect(programmed(parts)).toMatchObject({ status: 'False', reason });
  });

  test('no interface of the class on the serving node', () => {
    const parts = {
      classes: [portMapClass({ nodes: { 'edge-a': { interfaces: ['eth7'] } } })],
      endpointSlices: [slice([{ node: 'edge-a' }])],
    };
    expect(programmed(parts)).toMatchObject({
      reason: 'NoInterfaceOnNode',
      message: 'node edge-a has no IPv4 address on eth7',
    });
  });

  test('without return path no node holds a rule', () => {
    for (const name of ['edge-a', 'worker-b']) expect(planOn(name, { classes: [none] }).deliveries).toEqual([]);
  });
});

describe('the endpoint', () => {
  const choose = (parts: Partial<ClusterSnapshot>, map = portMap()) => {
    const cluster = snapshot({ ...parts, portMaps: [map] });
    return chooseEndpoint(cluster, map, cluster.classes[0] ?? portMapClass())?.pod;
  };
  const three = [
    { node: 'worker-c', pod: 'a', address: '10.244.19.1' },
    { node: 'worker-b', pod: 'b', address: '10.244.18.1' },
    { node: 'edge-a', pod: 'z', address: '10.244.17.1' },
  ];

  test('is the one on an accepting node', () => expect(choose({ endpointSlices: [slice(three)] })).toBe('z'));
  test('else the smallest pod name', () => expect(choose({ endpointSlices: [slice(three.slice(0, 2))] })).toBe('a'));
  test('absent readiness means ready', () =>
    expect(choose({ endpointSlices: [slice([{ node: 'worker-b', ready: null }])] })).toBe('gameserver-0'));

  test('stays while it is a candidate of the best rank, and only then', () => {
    const status = { endpoint: { node: 'worker-b', pod: 'b', address: '10.244.18.1' } };
    expect(choose({ endpointSlices: [slice(three.slice(0, 2))] }, portMap({}, { status }))).toBe('b');
    expect(choose({ endpointSlices: [slice(three)] }, portMap({}, { status }))).toBe('z');
    expect(choose({ endpointSlices: [slice([three[0] ?? { node: 'worker-c' }])] }, portMap({}, { status }))).toBe('a');
  });

  test('seen in two slices counts once', () => {
    const both = [slice(three.slice(0, 1)), slice(three.slice(0, 1), 3000, 'gameserver-2')];
    expect(choose({ endpointSlices: both })).toBe('a');
  });
});

describe('the serving node', () => {
  const nodes = { 'edge-a': { interfaces: ['enp1s0'] }, 'edge-d': { interfaces: ['enp1s0'] } };
  const endpoint = (on: string) => ({ node: on, pod: 'p', address: '10.0.0.1', targetPort: 1 });
  test.each([
    ['is where the pod is, if that accepts', 'edge-d', ['edge-a', 'edge-d'], 'edge-d'],
    ['else the first by name', 'worker-b', ['edge-a', 'edge-d'], 'edge-a'],
    ['passes over a node that is not Ready', 'worker-b', ['edge-d'], 'edge-d'],
    ['even one that has the pod', 'edge-a', ['edge-d'], 'edge-d'],
    ['but not when none is Ready', 'worker-b', [], 'edge-a'],
  ])('%s', (_, on, ready, expected) => {
    const cluster = snapshot({
      nodes: ['edge-a', 'edge-d', 'worker-b'].map((name) => node(name, ready.includes(name))),
    });
    expect(servingNode(cluster, portMapClass({ nodes }), endpoint(on))).toBe(expected);
  });
});

describe('slots', () => {
  test('the lowest free one, passing over VNIs that others hold', () => {
    const taken = portMapClass({}, { status: { links: [link('a/b', 0), link('a/c', 2)] } });
    expect(freeSlot(taken)).toBe(1);
    expect(freeSlot(taken, [4243])).toBe(3);
  });

  test('none left in a full subnet', () => {
    const full = portMapClass(
      { returnPath: { mode: 'Vxlan', vxlan: { subnet: '169.254.77.0/30' } } },
      { status: { links: [link('a/b', 0), link('a/c', 1)] } },
    );
    expect(freeSlot(full)).toBeNull();
  });

  test('the last /31 of the default subnet', () => {
    expect(slotSubnet(portMapClass(), 127)).toEqual({
      lower: '169.254.77.254',
      upper: '169.254.77.255',
      text: '169.254.77.254/31',
    });
  });

  test('are given back 24 hours after their last use, and not before', () => {
    const unused = (hours: number) => {
      const unusedSince = new Date(now - hours * 3_600_000).toISOString();
      const classes = [portMapClass({}, { status: { links: [{ ...link('edge-a/worker-c', 0), unusedSince }] } })];
      return planOn('edge-a', { classes }).linkChanges.map((each) => each.change);
    };
    expect(unused(23.9)).toEqual([]);
    expect(unused(24)).toEqual(['free']);
  });

  test('are marked unused when no mapping needs the link, and used again', () => {
    const gone = { classes: [claimed], portMaps: [] };
    expect(planOn('edge-a', gone).linkChanges).toEqual([
      { className: 'public', key: 'edge-a/worker-b', change: 'unused' },
    ]);
    expect(planOn('worker-b', gone).linkChanges).toEqual([]);
    const again = portMapClass(
      {},
      { status: { links: [{ ...link('edge-a/worker-b', 0), unusedSince: '2026-01-31T23:00:00Z' }] } },
    );
    expect(planOn('edge-a', { classes: [again] }).linkChanges).toEqual([
      { className: 'public', key: 'edge-a/worker-b', change: 'used' },
    ]);
  });
});

describe('marks', () => {
  test('keep clear of the bits that Cilium, kube-proxy and KubeSpan read, and are never shared', () => {
    const devices = Array.from({ length: 255 }, (_, index) => `kup-${index}`);
    const marks = [...assignMarks(devices, {}).values()];
    expect(new Set(marks).size).toBe(255);
    for (const mark of marks) {
      expect(mark & 0x0fffff & 0xcf60).toBe(0);
      expect(mark >>> 16).toBe(0x6b70);
      expect(mark & 0xffff).not.toBe(0);
    }
  });

  test('one more than there are is refused, not shared', () => {
    expect(() =>
      assignMarks(
        Array.from({ length: 256 }, (_, index) => `kup-${index}`),
        {},
      ),
    ).toThrow('256 links on one node, room for 255');
  });

  test('stay what they are over a restart, unless two devices claim one', () => {
    expect(assignMarks(['kup-a', 'kup-b'], { 'kup-b': 0x6b700001 }).get('kup-b')).toBe(0x6b700001);
    const both = assignMarks(['kup-a', 'kup-b'], { 'kup-a': 0x6b700001, 'kup-b': 0x6b700001 });
    expect(both.get('kup-a')).toBe(0x6b700001);
    expect(both.get('kup-b')).not.toBe(0x6b700001);
    expect(assignMarks(['kup-a'], { 'kup-a': 0x6b700f00 }).get('kup-a')).not.toBe(0x6b700f00);
  });
});

describe('classes', () => {
  const reasonOf = (...classes: ReturnType<typeof portMapClass>[]): string[] =>
    ['edge-a', 'edge-d']
      .flatMap((name) => planOn(name, { classes, portMaps: [] }).classConditions)
      .map((each) => `${each.className} ${each.condition.reason}`);
  const vxlan = (settings: object, name: string, created = '2026-01-05T00:00:00Z') =>
    portMapClass({ returnPath: { mode: 'Vxlan', vxlan: settings } }, { name, created });

  test('that are both left at the defaults collide; the older one stays valid', () => {
    expect(reasonOf(portMapClass(), vxlan({}, 'second'))).toEqual(['public Valid', 'second LinkRangeConflict']);
  });
  test('with their own VNI and subnet do not, although the ranges of VNIs run into one another', () => {
    expect(reasonOf(portMapClass(), vxlan({ vni: 4300, subnet: '169.254.79.0/24' }, 'second'))).toEqual([
      'public Valid',
      'second Valid',
    ]);
  });
  test.each([
    [{ subnet: '169.254.77.1/24' }, 'InvalidSubnet'],
    [{ subnet: '169.254.77.0/32' }, 'InvalidSubnet'],
    [{ port: 8472 }, 'VxlanPortConflict'],
  ])('%j: %s', (settings, reason) => {
    expect(reasonOf(vxlan(settings, 'only'))).toEqual([`only ${reason}`]);
  });
  test('whose nodes report one address', () => {
    const row = (name: string) => ({ name, ready: true, message: '', underlayAddress: '192.168.1.10' });
    expect(reasonOf(portMapClass({}, { status: { nodes: [row('edge-a'), row('edge-d')] } }))).toEqual([
      'public UnderlayAmbiguous',
    ]);
  });
});

describe('for any cluster', () => {
  const names = ['edge-a', 'edge-d', 'worker-b', 'worker-c'];
  const pods = fc.uniqueArray(
    fc.record({
      node: fc.constantFrom(...names),
      pod: fc.constantFrom('a', 'b', 'c', 'd'),
      ready: fc.option(fc.boolean()),
      address: fc.ipV4(),
    }),
    { selector: (each) => each.pod, maxLength: 4 },
  );
  const clusters = fc
    .record({
      ready: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean(), fc.boolean()),
      accepting: fc.subarray(names, { minLength: 1 }),
      servingMode: fc.constantFrom('Single' as const, 'Multi' as const),
      mode: fc.constantFrom('Vxlan' as const, 'None' as const),
      slots: fc.subarray([
        'edge-a/edge-d',
        'edge-a/worker-b',
        'edge-a/worker-c',
        'edge-d/worker-b',
        'edge-d/worker-c',
        'worker-b/worker-c',
      ]),
      pods,
      maps: fc.uniqueArray(
        fc.record({
          name: fc.constantFrom('m1', 'm2', 'm3'),
          port: fc.integer({ min: 3000, max: 3004 }),
          size: fc.integer({ min: 0, max: 3 }),
        }),
        {
          selector: (each) => each.name,
          maxLength: 3,
        },
      ),
    })
    .map(({ ready, accepting, servingMode, mode, slots, pods: endpoints, maps }) =>
      snapshot({
        nodes: names.map((name, index) => node(name, ready[index])),
        classes: [
          portMapClass(
            {
              nodes: Object.fromEntries(accepting.map((name) => [name, { interfaces: ['enp1s0'] }])),
              servingMode,
              returnPath: { mode },
            },
            { status: { links: slots.map(link) } },
          ),
        ],
        portMaps: maps.map(({ name, port, size }) =>
          portMap({ port, ...(size === 0 ? {} : { endPort: port + size }) }, { name }),
        ),
        endpointSlices: [slice(endpoints)],
      }),
    );

  test('exactly one node writes each status, and all agree on where things go', () => {
    fc.assert(
      fc.property(clusters, (cluster) => {
        const plans = names.map((name) => plan(cluster, name, host(name), now));
        const statuses = plans.flatMap((each) => each.portMapStatuses);
        expect(statuses.map((each) => each.name).sort()).toEqual(
          cluster.portMaps.map((each) => each.metadata.name).sort(),
        );
        // What an accepting node sends into a link, the node at its far end takes from it and hands to the pod.
        for (const from of plans) {
          for (const delivery of from.deliveries.filter((each) => !each.targetIsPod)) {
            const via = from.links.find((each) => each.peerAddress === delivery.targetAddress);
            const to = plans.find((each) => each.node === via?.peer);
            const arrival = to?.deliveries.find(
              (each) => each.portMap === delivery.portMap && each.dialledAddresses.includes(delivery.targetAddress),
            );
            expect(arrival?.targetIsPod).toBe(true);
            const back = to?.links.find((each) => each.device === arrival?.interface);
            expect(back).toMatchObject({
              vni: via?.vni,
              address: via?.peerAddress,
              peerAddress: via?.address,
              peerUnderlayAddress: via?.underlayAddress,
              mtu: via?.mtu,
            });
            expect(
              to?.returnPaths.some((each) => each.device === arrival?.interface && each.peerAddress === via?.address),
            ).toBe(true);
          }
        }
      }),
    );
  });

  test('a plan does not depend on the order of what it is made from', () => {
    fc.assert(
      fc.property(clusters, fc.constantFrom(...names), (cluster, name) => {
        const reversed = Object.fromEntries(
          Object.entries(cluster).map(([kind, list]) => [kind, [...(list as unknown[])].reverse()]),
        ) as unknown as ClusterSnapshot;
        expect(plan(reversed, name, host(name), now)).toEqual(plan(cluster, name, host(name), now));
      }),
    );
  });
});
