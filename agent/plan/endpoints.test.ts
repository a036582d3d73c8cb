import type { V1Service } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import { candidates, chooseEndpoint, whyNoEndpoint } from './endpoints.ts';
import type { ClusterSnapshot } from './snapshot.ts';
import { portMap, portMapClass, slice, snapshot } from './testing/snapshots.ts';

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

describe('an endpoint that two slices list', () => {
  const at = [{ node: 'worker-b', pod: 'a', address: '10.244.18.1' }];
  const inOrder = (...endpointSlices: ClusterSnapshot['endpointSlices']) =>
    candidates(snapshot({ endpointSlices }), portMap());
  const [first, second] = [slice(at, 7000), slice(at, 3000, 'gameserver-2')];

  test('with two ports has the lower one, whichever slice comes first', () => {
    expect(inOrder(first, second)).toEqual([{ ...at[0], targetPort: 3000 }]);
    expect(inOrder(second, first)).toEqual([{ ...at[0], targetPort: 3000 }]);
  });

  test('as ready and as not ready is ready', () => {
    const notReady = slice(
      [{ node: 'worker-b', pod: 'a', address: '10.244.18.1', ready: false }],
      3000,
      'gameserver-2',
    );
    expect(inOrder(notReady, first)).toHaveLength(1);
    expect(inOrder(first, notReady)).toHaveLength(1);
  });
});

describe('slices that do not count', () => {
  const only = (over: object) =>
    candidates(snapshot({ endpointSlices: [{ ...slice([{ node: 'worker-b' }]), ...over }] }), portMap());
  test.each<[string, object]>([
    ['of IPv6', { addressType: 'IPv6' }],
    ['of another Service', { metadata: { namespace: 'games', labels: { 'kubernetes.io/service-name': 'other' } } }],
    [
      'of another namespace',
      { metadata: { namespace: 'mail', labels: { 'kubernetes.io/service-name': 'gameserver' } } },
    ],
    ['without the named port', { ports: [{ name: 'query', protocol: 'UDP', port: 3000 }] }],
    ['with the port under another protocol', { ports: [{ name: 'game', port: 3000 }] }],
    ['without addresses', { endpoints: [{ addresses: [], nodeName: 'worker-b' }] }],
    ['of nowhere', { endpoints: [{ addresses: ['10.244.18.1'] }] }],
  ])('%s', (_, over) => expect(only(over)).toEqual([]));

  test('an endpoint that is no pod goes by its address', () => {
    expect(only({ endpoints: [{ addresses: ['10.244.18.1'], nodeName: 'worker-b' }] })[0]?.pod).toBe('10.244.18.1');
  });
});

describe('without a candidate it says why', () => {
  const service = (ports: { name?: string; protocol?: string; port: number }[]): V1Service => ({
    metadata: { namespace: 'games', name: 'gameserver' },
    spec: { ports },
  });
  test.each<[string, Partial<ClusterSnapshot>, string]>([
    [
      'no Service',
      { endpointSlices: [] },
      'Service games/gameserver (spec.serviceRef.name) does not exist: create it, or name another',
    ],
    [
      'no such port',
      {
        endpointSlices: [],
        services: [
          service([
            { name: 'game', port: 3000 },
            { protocol: 'UDP', port: 1 },
          ]),
        ],
      },
      'Service games/gameserver has no UDP port named "game" (spec.serviceRef.port): it has game/TCP, (unnamed)/UDP',
    ],
    [
      'no pod',
      { endpointSlices: [], services: [service([{ name: 'game', protocol: 'UDP', port: 3000 }])] },
      'Service games/gameserver has no endpoint with a UDP port named "game": its selector matches no pod with an IPv4 address',
    ],
    [
      'none ready, one of two listed twice',
      {
        endpointSlices: [
          slice([
            { node: 'worker-b', ready: false },
            { node: 'worker-c', pod: 'gameserver-1', ready: false },
          ]),
          slice([{ node: 'worker-b', ready: false }], 3000, 'gameserver-2'),
        ],
      },
      'Service games/gameserver has no ready endpoint with a UDP port named "game" (0 of 2): see why its pods are not ready',
    ],
  ])('%s', (_, parts, message) => expect(whyNoEndpoint(snapshot(parts), portMap())).toBe(message));
});

test('a node that the class names and that has no Node object any more is no accepting node', () => {
  const nodes = { 'edge-a': { interfaces: ['enp1s0'] }, gone: { interfaces: ['enp1s0'] } };
  const endpoints = [
    { node: 'worker-b', pod: 'a', address: '10.244.18.7' },
    { node: 'gone', pod: 'b', address: '10.244.99.7' },
  ];
  const parts = snapshot({ endpointSlices: [slice(endpoints)] });
  expect(chooseEndpoint(parts, portMap(), portMapClass({ nodes }))?.pod).toBe('a');
});
