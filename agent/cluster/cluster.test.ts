import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ApiClient } from './api-client.ts';
import { Cluster } from './cluster.ts';
import type { ReflectorTimes } from './reflector.ts';
import { TestApiServer } from './testing/api-server.ts';

const times: ReflectorTimes = { watchSeconds: 60, idleTimeoutMs: 60_000, firstRetryMs: 20, longestRetryMs: 200 };

let server: TestApiServer;
let cluster: Cluster;
let changes: string[];
let errors: string[];

beforeEach(async () => {
  server = await TestApiServer.start();
  changes = [];
  errors = [];
});

afterEach(async () => {
  cluster.stop();
  await server.stop();
});

function connect(over: Partial<ReflectorTimes> = {}): Cluster {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(server.kubeconfig());
  cluster = new Cluster(
    new ApiClient(kubeConfig),
    {
      onChange: (what) => changes.push(what),
      onError: (kind, error) => errors.push(`${kind}: ${error.message}`),
      onSynced: () => undefined,
    },
    { ...times, ...over },
  );
  return cluster;
}

function addNode(name: string, ready = true): void {
  server.apply(`/api/v1/nodes/${name}`, {
    metadata: { name },
    status: {
      addresses: [],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastHeartbeatTime: new Date() }],
    },
  });
}

async function until(condition: () => boolean, what: string, timeoutMs = 5000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > end)
      throw new Error(`not within ${timeoutMs} ms: ${what}; changes ${changes}, errors ${errors}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const nodes = (): string[] =>
  cluster
    .snapshot()
    .nodes.map((node) => node.metadata?.name ?? '')
    .sort();

test('what is there, what comes, what goes', async () => {
  addNode('edge-a');
  await connect().start();
  expect(nodes()).toEqual(['edge-a']);
  await until(() => server.watchCount === 7, 'seven watches');
  addNode('worker-b');
  await until(() => nodes().length === 2, 'worker-b');
  server.delete('/api/v1/nodes/edge-a');
  await until(() => nodes().length === 1, 'edge-a gone');
  expect(changes).toEqual(['Node edge-a added', 'Node worker-b added', 'Node edge-a deleted']);
  expect(errors).toEqual([]);
});

test('a heartbeat is no change, a node that is not ready any more is one', async () => {
  addNode('edge-a');
  await connect().start();
  await until(() => server.watchCount === 7, 'seven watches');
  addNode('edge-a');
  addNode('edge-a');
  addNode('edge-a', false);
  await until(() => changes.length > 1, 'a change');
  expect(changes).toEqual(['Node edge-a added', 'Node edge-a changed']);
});

test('410: lists again and takes over what it missed, deletions too', async () => {
  addNode('edge-a');
  addNode('worker-b');
  await connect().start();
  await until(() => server.watchCount === 7, 'seven watches');
  server.setFault((_, response) => {
    response.destroy();
    return true;
  });
  server.resetConnections();
  server.delete('/api/v1/nodes/edge-a');
  addNode('worker-c');
  server.compact();
  server.setFault(null);
  await until(() => nodes().join() === 'worker-b,worker-c', 'the new list');
  expect(errors.some((each) => each.includes('410'))).toBe(true);
});

test('a connection that is open but dead: taken up again from where it was, nothing lost', async () => {
  addNode('edge-a');
  await connect({ idleTimeoutMs: 200 }).start();
  await until(() => server.watchCount === 7, 'seven watches');
  server.muteWatches();
  addNode('worker-b');
  await until(() => nodes().length === 2, 'worker-b', 1500);
  const lists = server.requests.filter((each) => each === 'GET /api/v1/nodes');
  expect(lists).toHaveLength(1);
  expect(errors).toEqual([]);
});

test('an outage: what was known stays, requests are few, and it goes on by itself', async () => {
  addNode('edge-a');
  await connect().start();
  await until(() => server.watchCount === 7, 'seven watches');
  const { port } = server;
  await server.stop();
  const before = server.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(nodes()).toEqual(['edge-a']);
  expect(server.requests.length).toBe(before);
  server = await TestApiServer.start(port);
  addNode('edge-a');
  addNode('worker-b');
  server.compact();
  await until(() => nodes().length === 2, 'worker-b after the outage');
});

test.each([
  ['500', 500, {}],
  ['429', 429, { 'retry-after': '0' }],
])('a server that answers %s is asked ever less often', async (_, status, headers) => {
  server.setFault((_, response) => {
    response.writeHead(status, headers).end('{"message":"busy"}');
    return true;
  });
  const started = connect({ longestRetryMs: 400 }).start();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  // Seven kinds, waits of 20, 40 ... 400 ms with jitter: fewer than ten each.
  expect(server.requests.length).toBeGreaterThan(7);
  expect(server.requests.length).toBeLessThan(7 * 10);
  expect(errors[0]).toContain(`${status}`);
  expect(errors[0]).toContain('busy');
  server.setFault(null);
  addNode('edge-a');
  await started;
  expect(nodes()).toEqual(['edge-a']);
});

test('429 with Retry-After: not before', async () => {
  let refusals = 0;
  server.setFault((_, response) => {
    refusals += 1;
    response.writeHead(429, { 'retry-after': '1' }).end('{"message":"later"}');
    return true;
  });
  void connect().start();
  await until(() => refusals === 7, 'seven refusals');
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(refusals).toBe(7);
});

test.each([
  ['no JSON', 'surprise'],
  ['JSON of another kind', '{"surprise":1}'],
])('garbage in place of a list (%s) is an error that shows it, and is asked for again', async (_, garbage) => {
  server.setFault((request, response) => {
    if (request.url?.includes('watch')) return false;
    response.writeHead(200).end(garbage);
    return true;
  });
  const started = connect().start();
  await until(() => errors.length >= 7, 'errors');
  expect(errors[0]).toContain('surprise');
  server.setFault(null);
  await started;
});

test('garbage in a watch, or half a line: errors, then on from the last good event', async () => {
  addNode('edge-a');
  let spoilt = 0;
  server.setFault((request, response) => {
    if (!request.url?.startsWith('/api/v1/nodes?watch') || spoilt > 1) return false;
    spoilt += 1;
    response.writeHead(200);
    response.write(spoilt === 1 ? 'surprise\n' : '{"type":"ADDED","object":{"meta');
    response.end();
    return true;
  });
  await connect().start();
  await until(() => server.watchCount === 7, 'seven watches');
  addNode('worker-b');
  await until(() => nodes().length === 2, 'worker-b');
  expect(errors.filter((each) => each.startsWith('Node: '))).toHaveLength(2);
});

test("Cilium's configuration is followed, the keys that matter and no other ConfigMap", async () => {
  const path = '/api/v1/namespaces/kube-system/configmaps/cilium-config';
  const metadata = { name: 'cilium-config', namespace: 'kube-system' };
  await connect().start();
  expect(cluster.snapshot()).not.toHaveProperty('cniConfig');
  await until(() => server.watchCount === 7, 'seven watches');
  server.apply(path, { metadata, data: { 'tunnel-port': '8473', debug: 'true' } });
  await until(() => cluster.snapshot().cniConfig !== undefined, 'the configuration');
  expect(cluster.snapshot().cniConfig).toEqual({ 'tunnel-port': '8473' });
  server.apply(path, { metadata, data: { 'tunnel-port': '8473', debug: 'false' } });
  server.delete(path);
  await until(() => cluster.snapshot().cniConfig === undefined, 'no configuration');
  expect(changes).toEqual(['ConfigMap kube-system/cilium-config added', 'ConfigMap kube-system/cilium-config deleted']);
  expect(server.requests.filter((each) => each.endsWith('configmaps'))).toHaveLength(1);
});

test('nobody waits for a configuration that may not be read', async () => {
  server.setFault((request, response) => {
    if (!request.url?.includes('/configmaps')) return false;
    response.writeHead(403).end('{"message":"forbidden"}');
    return true;
  });
  await connect().start();
  expect(errors.every((each) => each.startsWith('ConfigMap: '))).toBe(true);
});

test('lists come in pages', async () => {
  server.setFault((request, response) => {
    const url = new URL(request.url ?? '', server.url);
    if (url.pathname !== '/api/v1/nodes' || url.searchParams.has('watch')) return false;
    const isSecond = url.searchParams.get('continue') === 'more';
    const metadata = { resourceVersion: '100', ...(isSecond ? {} : { continue: 'more' }) };
    response.end(JSON.stringify({ metadata, items: [{ metadata: { name: isSecond ? 'worker-b' : 'edge-a' } }] }));
    return true;
  });
  await connect().start();
  expect(nodes()).toEqual(['edge-a', 'worker-b']);
});
