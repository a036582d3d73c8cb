import { expect, test } from 'vitest';
import type { PortMap, PortMapClass } from '../api/types.ts';
import { type ClassStatusPlan, mergeClassStatus, mergePortMapStatus } from './status-merge.ts';

const now = new Date('2026-06-01T12:00:00.500Z');

const portMapClass: PortMapClass = {
  apiVersion: 'kuport.wlz.li/v1alpha1',
  kind: 'PortMapClass',
  metadata: { name: 'public', generation: 1 },
  spec: { nodes: { 'edge-a': { interfaces: ['enp1s0'] } }, returnPath: { mode: 'Vxlan' } },
};

const nothing: ClassStatusPlan = {
  className: 'public',
  node: 'worker-b',
  claims: [],
  linkChanges: [],
  conditions: [],
  goneNodes: [],
  row: null,
};

const claim = {
  className: 'public',
  key: 'edge-a/worker-b',
  peers: ['edge-a', 'worker-b'] as [string, string],
  foreignVnis: [],
};
const row = (name: string, message = '') => ({ name, ready: true, message });

function withStatus(status: PortMapClass['status']): PortMapClass {
  return { ...portMapClass, ...(status === undefined ? {} : { status }) };
}

test('nothing to say, nothing to write', () => {
  expect(mergeClassStatus(portMapClass, nothing, now)).toBeNull();
  const said = withStatus({ nodes: [row('edge-a'), row('worker-b')] });
  expect(mergeClassStatus(said, { ...nothing, row: row('worker-b') }, now)).toBeNull();
});

test("the own row is replaced or taken away, others' rows stay", () => {
  const have = withStatus({ nodes: [row('worker-c'), row('worker-b', 'old'), row('edge-a')] });
  expect(mergeClassStatus(have, { ...nothing, row: row('worker-b', 'new') }, now)?.status?.nodes).toEqual([
    row('edge-a'),
    row('worker-b', 'new'),
    row('worker-c'),
  ]);
  expect(mergeClassStatus(have, nothing, now)?.status?.nodes).toEqual([row('edge-a'), row('worker-c')]);
});

test('the row of a node that has left the cluster goes', () => {
  const have = withStatus({ nodes: [row('edge-a'), row('worker-x')] });
  expect(mergeClassStatus(have, { ...nothing, goneNodes: ['worker-x'] }, now)?.status?.nodes).toEqual([row('edge-a')]);
});

test('a claim takes the lowest slot that is free in the object as it is now', () => {
  const have = withStatus({
    links: [{ key: 'edge-a/worker-c', peers: ['edge-a', 'worker-c'], slot: 0, subnet: '169.254.77.0/31' }],
  });
  expect(mergeClassStatus(have, { ...nothing, claims: [claim] }, now)?.status?.links).toContainEqual({
    key: 'edge-a/worker-b',
    peers: ['edge-a', 'worker-b'],
    slot: 1,
    subnet: '169.254.77.2/31',
  });
});

test('a claim that somebody has recorded meanwhile is left alone', () => {
  const have = withStatus({ links: [{ key: claim.key, peers: claim.peers, slot: 5, subnet: '169.254.77.10/31' }] });
  expect(mergeClassStatus(have, { ...nothing, claims: [claim] }, now)).toBeNull();
});

test('no slot free: nothing is recorded', () => {
  const full = {
    ...portMapClass,
    spec: { ...portMapClass.spec, returnPath: { mode: 'Vxlan' as const, vxlan: { subnet: '169.254.77.0/31' } } },
    status: { links: [{ key: 'a/b', peers: ['a', 'b'], slot: 0, subnet: '169.254.77.0/31' }] },
  };
  expect(mergeClassStatus(full, { ...nothing, claims: [claim] }, now)).toBeNull();
});

test('links: unused since now, used again, free only after a day', () => {
  const link = { key: claim.key, peers: claim.peers, slot: 0, subnet: '169.254.77.0/31' };
  const change = (status: PortMapClass['status'], what: 'unused' | 'used' | 'free') =>
    mergeClassStatus(
      withStatus(status),
      { ...nothing, linkChanges: [{ className: 'public', key: claim.key, change: what }] },
      now,
    )?.status?.links;
  expect(change({ links: [link] }, 'unused')).toEqual([{ ...link, unusedSince: '2026-06-01T12:00:00Z' }]);
  expect(change({ links: [{ ...link, unusedSince: '2026-06-01T11:00:00Z' }] }, 'used')).toEqual([link]);
  expect(change({ links: [{ ...link, unusedSince: '2026-05-31T12:00:00Z' }] }, 'free')).toEqual([]);
  expect(change({ links: [{ ...link, unusedSince: '2026-05-31T12:00:01Z' }] }, 'free')).toBeUndefined();
  expect(change({ links: [link] }, 'free')).toBeUndefined();
});

const portMap: PortMap = {
  apiVersion: 'kuport.wlz.li/v1alpha1',
  kind: 'PortMap',
  metadata: { name: 'quake', namespace: 'games', generation: 3, resourceVersion: '7' },
  spec: { className: 'public', protocol: 'UDP', port: 3000, serviceRef: { name: 'quake', port: 'game' } },
};

const statusPlan = {
  namespace: 'games',
  name: 'quake',
  observedGeneration: 3,
  endpoint: { node: 'worker-b', pod: 'quake-0', address: '10.244.2.7' },
  published: [{ node: 'edge-a', interface: 'enp1s0', address: '203.0.113.9' }],
  addresses: '203.0.113.9',
  conditions: [
    { type: 'Programmed', status: 'True' as const, reason: 'Programmed', message: '', observedGeneration: 3 },
  ],
};

test('a PortMap status is written whole once, and not again', () => {
  const written = mergePortMapStatus(portMap, statusPlan, now);
  expect(written?.metadata.resourceVersion).toBe('7');
  expect(written?.status?.conditions?.[0]?.lastTransitionTime).toBe('2026-06-01T12:00:00Z');
  expect(
    written === null ? null : mergePortMapStatus(written, statusPlan, new Date('2026-07-01T00:00:00Z')),
  ).toBeNull();
});

test('the time of transition changes with the status, not with the message', () => {
  const written = mergePortMapStatus(portMap, statusPlan, now) ?? portMap;
  const later = new Date('2026-07-01T00:00:00Z');
  const [condition] = statusPlan.conditions;
  if (condition === undefined) throw new Error('no condition');
  const reworded = { ...statusPlan, conditions: [{ ...condition, message: 'other words' }] };
  expect(mergePortMapStatus(written, reworded, later)?.status?.conditions?.[0]?.lastTransitionTime).toBe(
    '2026-06-01T12:00:00Z',
  );
  const failed = {
    ...statusPlan,
    endpoint: null,
    conditions: [{ ...condition, status: 'False' as const, reason: 'NoReadyEndpoint' }],
  };
  const merged = mergePortMapStatus(written, failed, later)?.status;
  expect(merged?.conditions?.[0]?.lastTransitionTime).toBe('2026-07-01T00:00:00Z');
  expect(merged).not.toHaveProperty('endpoint');
});

const other: [string, Partial<typeof statusPlan>][] = [
  ['endpoint', { endpoint: { node: 'worker-b', pod: 'quake-1', address: '10.244.2.7' } }],
  ['published', { published: [{ node: 'edge-a', interface: 'wt0', address: '203.0.113.9' }] }],
  ['addresses', { addresses: '203.0.113.10' }],
  ['reason', { conditions: statusPlan.conditions.map((each) => ({ ...each, reason: 'Other' })) }],
  ['message', { conditions: statusPlan.conditions.map((each) => ({ ...each, message: 'other' })) }],
];

test.each(other)('another %s is written', (_, over) => {
  const written = mergePortMapStatus(portMap, statusPlan, now) ?? portMap;
  expect(mergePortMapStatus(written, { ...statusPlan, ...over }, now)).not.toBeNull();
});

test('what was judged of an older generation is not written over a newer one', () => {
  const edited = { ...portMap, metadata: { ...portMap.metadata, generation: 4 } };
  expect(mergePortMapStatus(edited, statusPlan, now)).toBeNull();
});
