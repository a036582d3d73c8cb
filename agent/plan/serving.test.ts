import { describe, expect, test } from 'vitest';
import { servingNode, statusWriter } from './serving.ts';
import { node, portMapClass, snapshot } from './testing/snapshots.ts';

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

describe('the status writer', () => {
  const nodes = { 'edge-a': { interfaces: ['enp1s0'] }, 'edge-d': { interfaces: ['enp1s0'] } };
  const endpoint = { node: 'worker-b', pod: 'p', address: '10.0.0.1', targetPort: 1 };
  const everybody = ['edge-a', 'edge-d', 'worker-b', 'worker-c'];
  test.each<[string, string[], typeof endpoint | null, string | null, string | null]>([
    ['is the serving node', everybody, endpoint, 'edge-d', 'edge-d'],
    ["without one the endpoint's node", everybody, endpoint, null, 'worker-b'],
    ['with neither the first accepting node', everybody, null, null, 'edge-a'],
    ["is the endpoint's node where the serving one is down", ['worker-b'], endpoint, 'edge-a', 'worker-b'],
    ['is any that is Ready where all of them are down', ['worker-c'], endpoint, 'edge-a', 'worker-c'],
    ['is the serving node where nobody is Ready', [], endpoint, 'edge-a', 'edge-a'],
  ])('%s', (_, ready, at, serving, expected) => {
    const cluster = snapshot({ nodes: everybody.map((name) => node(name, ready.includes(name))) });
    expect(statusWriter(cluster, portMapClass({ nodes }), at, serving)).toBe(expected);
  });

  test('without a class or a node of it is the first node, without nodes nobody', () => {
    const cluster = snapshot({ nodes: [node('worker-c'), node('worker-b')] });
    expect(statusWriter(cluster, undefined, null, null)).toBe('worker-b');
    expect(statusWriter(cluster, portMapClass(), null, null)).toBe('worker-b');
    expect(statusWriter(snapshot({ nodes: [] }), undefined, null, null)).toBeNull();
  });
});
