import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LinkStatus, PortMapClass } from '../api/types.ts';
import type { NodePlan } from '../plan/node-plan.ts';
import { ApiClient } from './api-client.ts';
import { Cluster } from './cluster.ts';
import { StatusWriter } from './status-writer.ts';
import { TestApiServer } from './testing/api-server.ts';

const classPath = '/apis/kuport.wlz.li/v1alpha1/portmapclasses/public';
const portMapPath = '/apis/kuport.wlz.li/v1alpha1/namespaces/games/portmaps/quake';

let server: TestApiServer;
const stops: (() => void)[] = [];

beforeEach(async () => {
  server = await TestApiServer.start();
  server.apply(classPath, {
    kind: 'PortMapClass',
    metadata: { name: 'public', generation: 1 },
    spec: { nodes: { 'edge-a': { interfaces: ['enp1s0'] } }, returnPath: { mode: 'Vxlan' } },
  });
  server.apply(portMapPath, {
    kind: 'PortMap',
    metadata: { name: 'quake', namespace: 'games', generation: 1 },
    spec: { className: 'public', protocol: 'UDP', port: 3000, serviceRef: { name: 'quake', port: 'game' } },
  });
});

afterEach(async () => {
  for (const stop of stops.splice(0)) stop();
  await server.stop();
});

interface Agent {
  writer: StatusWriter;
  cluster: Cluster;
  errors: string[];
}

async function agent(): Promise<Agent> {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(server.kubeconfig());
  const api = new ApiClient(kubeConfig);
  const cluster = new Cluster(api, { onChange: () => undefined, onError: () => undefined, onSynced: () => undefined });
  stops.push(() => cluster.stop());
  await cluster.start();
  const errors: string[] = [];
  const writer = new StatusWriter(api, cluster, {
    onWritten: () => undefined,
    onError: (what, error) => errors.push(`${what}: ${error.message}`),
  });
  return { writer, cluster, errors };
}

function plan(node: string, over: Partial<NodePlan> = {}): NodePlan {
  return {
    node,
    links: [],
    returnPaths: [],
    deliveries: [],
    claims: [],
    linkChanges: [],
    portMapStatuses: [],
    classConditions: [],
    classNodeStatuses: [{ className: 'public', row: { name: node, ready: true, message: '' } }],
    ...over,
  };
}

const puts = (): number => server.requests.filter((each) => each.startsWith('PUT')).length;

test('twelve agents write one class at once: every row and every claim lands, each slot is given out once', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `worker-${String(index).padStart(2, '0')}`);
  const agents = await Promise.all(names.map(agent));
  agents.forEach(({ writer }, index) => {
    const name = names[index] ?? '';
    writer.submit(
      plan(name, {
        claims: [{ className: 'public', key: `edge-a/${name}`, peers: ['edge-a', name], foreignVnis: [] }],
      }),
    );
  });
  await Promise.all(agents.map(({ writer }) => writer.settled()));
  const { status } = server.get(classPath) as unknown as PortMapClass;
  expect(status?.nodes?.map((row) => row.name)).toEqual(names);
  const links: LinkStatus[] = status?.links ?? [];
  expect(links.map((link) => link.key)).toEqual(names.map((name) => `edge-a/${name}`));
  expect(links.map((link) => link.slot).sort((a, b) => a - b)).toEqual(names.map((_, index) => index));
  expect(puts()).toBeGreaterThan(12);
});

test('what is in force already is not written', async () => {
  const { writer, cluster } = await agent();
  writer.submit(plan('edge-a'));
  await writer.settled();
  expect(puts()).toBe(1);
  // The answer is in the cache at once: a pass that the watch has not caught up with writes nothing either.
  expect(cluster.stores.classes.get('public')?.status?.nodes).toHaveLength(1);
  writer.submit(plan('edge-a'));
  await writer.settled();
  expect(puts()).toBe(1);
});

test('a refused write is said and tried again, with what the latest plan wants by then', async () => {
  const { writer, errors } = await agent();
  server.setFault((request, response) => {
    if (request.method !== 'PUT') return false;
    response.writeHead(403).end('{"message":"forbidden: cannot update portmapclasses/status"}');
    return true;
  });
  writer.submit(plan('edge-a'));
  while (errors.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(errors[0]).toContain('PUT http');
  expect(errors[0]).toContain('forbidden');
  server.setFault(null);
  writer.submit(
    plan('edge-a', {
      classNodeStatuses: [{ className: 'public', row: { name: 'edge-a', ready: false, message: 'new' } }],
    }),
  );
  await writer.settled();
  expect((server.get(classPath) as unknown as PortMapClass).status?.nodes).toEqual([
    { name: 'edge-a', ready: false, message: 'new' },
  ]);
});

test('an object that goes meanwhile, or is edited meanwhile, is not written to', async () => {
  const { writer, errors } = await agent();
  const statuses = [
    {
      namespace: 'games',
      name: 'quake',
      observedGeneration: 1,
      endpoint: null,
      published: [],
      addresses: '',
      conditions: [],
    },
  ];
  const before = server.get(portMapPath);
  if (before === undefined) throw new Error('no PortMap');
  // The agent's cache has not heard of this yet: its PUT meets a newer object.
  server.muteWatches();
  server.apply(portMapPath, { ...before, metadata: { ...before.metadata, generation: 2 } });
  writer.submit(plan('edge-a', { portMapStatuses: statuses, classNodeStatuses: [] }));
  await writer.settled();
  expect(server.get(portMapPath)?.status).toBeUndefined();
  server.delete(portMapPath);
  writer.submit(plan('edge-a', { portMapStatuses: statuses, classNodeStatuses: [] }));
  await writer.settled();
  expect(errors).toEqual([]);
});
