/** Against the lab's API server, which refuses what a real one refuses of an Event. */
import { fileURLToPath } from 'node:url';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeServerCertificates } from '../../lab/cluster/certificates.ts';
import { startTestServer, type TestServer } from '../../lab/cluster/fixtures/server.ts';
import { renderKubeconfig } from '../../lab/cluster/kubeconfig.ts';
import type { Condition, PortMap, PortMapClass } from '../api/types.ts';
import { ApiClient } from '../cluster/api-client.ts';
import { Cluster } from '../cluster/cluster.ts';
import { StatusWriter } from '../cluster/status-writer.ts';
import { plan } from '../plan/plan.ts';
import { host } from '../plan/testing/snapshots.ts';
import { EventRecorder, eventsOfChange } from './events.ts';

const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
});

describe('what a change of conditions has to say', () => {
  const texts = (before: Condition[], after: Condition[]): string[] =>
    eventsOfChange(before, after, '203.0.113.9').map(
      ({ type, reason, action, note }) => `${type} ${action} ${reason}: ${note}`,
    );
  const fine = condition('Programmed', 'True', 'Programmed');
  const down = condition('Programmed', 'False', 'NoReadyEndpoint', 'no pod');

  test.each<[string, Condition[], Condition[], string[]]>([
    ['false from the beginning', [], [down], ['Warning Program NoReadyEndpoint: no pod']],
    ['true from the beginning', [], [fine], []],
    ['false after true', [fine], [down], ['Warning Program NoReadyEndpoint: no pod']],
    ['true after false', [down], [fine], ['Normal Program Programmed: Answers on 203.0.113.9']],
    ['false for another reason', [down], [{ ...down, reason: 'NodeNotReady' }], []],
    ['nothing', [fine], [fine], []],
    ['on its way', [], [condition('Programmed', 'False', 'LinkPending', 'wait')], ['Normal Program LinkPending: wait']],
    [
      'refused: said once, of Accepted',
      [condition('Accepted', 'True', 'Valid'), fine],
      [
        condition('Accepted', 'False', 'PortInUse', 'taken'),
        condition('Programmed', 'False', 'NotAccepted', 'not accepted: taken'),
      ],
      ['Warning Admit PortInUse: taken'],
    ],
    ['a class', [], [condition('Ready', 'False', 'InvalidSubnet', 'no')], ['Warning Judge InvalidSubnet: no']],
  ])('%s', (_, before, after, expected) => expect(texts(before, after)).toEqual(expected));
});

interface EventObject {
  metadata: { namespace: string; name: string };
  type: string;
  reason: string;
  note: string;
  reportingInstance: string;
  regarding: { kind: string; name: string; uid?: string };
}

let server: TestServer;
let api: ApiClient;
let namespace: string;
let round = 0;
const errors: string[] = [];

beforeAll(async () => {
  const { caPem, serverCertPem, serverKeyPem } = await makeServerCertificates(['127.0.0.1']);
  server = await startTestServer({
    listen: { address: '127.0.0.1', port: 0 },
    tls: { ca: caPem, cert: serverCertPem, key: serverKeyPem },
    tokens: { secret: 'agent' },
    crdFolders: [fileURLToPath(new URL('../../crds', import.meta.url))],
  });
  const kubeConfig = new KubeConfig();
  const url = `https://127.0.0.1:${server.server.port}`;
  kubeConfig.loadFromString(renderKubeconfig({ server: url, caPem, user: 'agent', token: 'secret' }));
  api = new ApiClient(kubeConfig);
});

afterAll(() => server.close());

beforeEach(async () => {
  errors.length = 0;
  namespace = `games-${++round}`;
  await server.client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
});

function recorder(): EventRecorder {
  return new EventRecorder(api, 'edge-a', { onError: (what, error) => errors.push(`${what}: ${error.message}`) });
}

async function events(where = namespace): Promise<EventObject[]> {
  const { items } = await server.client.list<EventObject>('events.k8s.io/v1', 'Event', { namespace: where });
  return items;
}

function portMap(conditions: Condition[]): PortMap {
  return {
    apiVersion: 'kuport.wlz.li/v1alpha1',
    kind: 'PortMap',
    metadata: { namespace, name: 'quake', uid: `uid-${namespace}` },
    spec: { className: 'public', protocol: 'UDP', port: 3000, serviceRef: { name: 'quake', port: 'game' } },
    status: { conditions },
  };
}

test('an event names object, source and reason, and kubectl finds it by the object', async () => {
  const message = 'Service quake has no ready endpoint';
  const down = condition('Programmed', 'False', 'NoReadyEndpoint', message);
  await recorder().statusWritten(portMap([down]), portMap([]));
  expect(errors).toEqual([]);
  expect(await events()).toMatchObject([
    {
      metadata: { namespace },
      type: 'Warning',
      reason: 'NoReadyEndpoint',
      note: message,
      reportingInstance: 'edge-a',
      regarding: { kind: 'PortMap', name: 'quake', uid: `uid-${namespace}` },
    },
  ]);
  const fieldSelector = `involvedObject.name=quake,involvedObject.uid=uid-${namespace}`;
  expect((await server.client.list('v1', 'Event', { namespace, fieldSelector })).items).toHaveLength(1);
});

test('of a class, which is in no namespace', async () => {
  const object = (conditions: Condition[]): PortMapClass => ({
    apiVersion: 'kuport.wlz.li/v1alpha1',
    kind: 'PortMapClass',
    metadata: { name: `public-${namespace}` },
    spec: { nodes: { 'edge-a': { interfaces: ['enp1s0'] } }, returnPath: { mode: 'None' } },
    status: { conditions },
  });
  await recorder().statusWritten(object([condition('Ready', 'False', 'InvalidSubnet', 'nonsense')]), object([]));
  expect(errors).toEqual([]);
  const own = (await events('default')).filter((each) => each.regarding.name === `public-${namespace}`);
  expect(own).toMatchObject([{ reason: 'InvalidSubnet', regarding: { kind: 'PortMapClass' } }]);
});

test('what was put back is told of the Node, in one event for all of a pass', async () => {
  const repairs = Array.from({ length: 7 }, (_, index) => ({ subject: 'rule' as const, detail: `ip rule ${index}` }));
  const own = new EventRecorder(api, `node-${namespace}`, { onError: (_, error) => errors.push(error.message) });
  await own.driftRepaired([], 'uid-7');
  await own.driftRepaired(repairs, 'uid-7');
  expect(errors).toEqual([]);
  const told = (await events('default')).filter((each) => each.regarding.name === `node-${namespace}`);
  expect(told).toMatchObject([{ type: 'Warning', reason: 'DriftRepaired', regarding: { kind: 'Node', uid: 'uid-7' } }]);
  expect(told[0]?.note).toBe(
    'Somebody had undone what kuport needs on this node; put back: ip rule 0; ip rule 1; ip rule 2; ip rule 3; ip rule 4; and 2 more',
  );
});

test('texts and names at their longest are cut to what the API takes, between characters', async () => {
  const down = condition('Programmed', 'False', 'NoReadyEndpoint', 'ü'.repeat(1024));
  const object = portMap([down]);
  object.metadata.name = 'q'.repeat(253);
  const long = new EventRecorder(api, 'n'.repeat(253), { onError: (_, error) => errors.push(error.message) });
  await long.statusWritten(object, portMap([]));
  expect(errors).toEqual([]);
  const [event] = await events();
  expect(Buffer.byteLength(event?.note ?? '')).toBeGreaterThan(1000);
  expect(event?.note).toMatch(/^ü+…$/);
});

test('a mapping that flaps says so ten times, and how often it has not when it may again', async () => {
  const [fine, down] = [
    condition('Programmed', 'True', 'Programmed'),
    condition('Programmed', 'False', 'NoReadyEndpoint', 'no pod'),
  ];
  const own = recorder();
  for (let flap = 0; flap < 20; flap++) {
    await own.statusWritten(portMap([down]), portMap([fine]));
    await own.statusWritten(portMap([fine]), portMap([down]));
  }
  expect(await events()).toHaveLength(10);
  // Another object is not kept from speaking by it.
  const other = portMap([down]);
  other.metadata.uid = 'other';
  await own.statusWritten(other, portMap([]));
  expect(await events()).toHaveLength(11);
});

test('a refusal is told once and not tried again', async () => {
  const down = condition('Programmed', 'False', 'NoReadyEndpoint', 'no pod');
  const object = portMap([down]);
  object.metadata.namespace = 'nowhere';
  const before = (await server.requests()).length;
  await recorder().statusWritten(object, portMap([]));
  expect(errors).toHaveLength(1);
  expect(errors[0]).toContain('"nowhere" not found');
  expect((await server.requests()).length).toBe(before + 1);
});

/** Agents that plan and write as `kuport-agent run` does, on what the API server holds. */
test('agents with one plan: one event for each change of a condition, however many passes and agents', async () => {
  const names = ['edge-a', 'edge-d'];
  await Promise.all(
    names.map((name) =>
      server.client.apply({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name },
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      }),
    ),
  );
  const spec = { nodes: { 'edge-a': { interfaces: ['enp1s0'] } }, returnPath: { mode: 'None' } };
  const version = 'kuport.wlz.li/v1alpha1';
  await server.client.apply({ apiVersion: version, kind: 'PortMapClass', metadata: { name: 'public' }, spec });
  const { status: _, metadata: __, ...quake } = portMap([]);
  await server.client.apply({ ...quake, metadata: { namespace, name: 'quake' } });
  const agents = await Promise.all(
    names.map(async (node) => {
      const quiet = { onChange: () => undefined, onError: () => undefined, onSynced: () => undefined };
      const cluster = new Cluster(api, quiet);
      await cluster.start();
      const own = new EventRecorder(api, node, { onError: (_, error) => errors.push(error.message) });
      const posts: Promise<void>[] = [];
      const writer = new StatusWriter(api, cluster, {
        onWritten: (object, before) => posts.push(own.statusWritten(object, before)),
        onError: (_, error) => errors.push(error.message),
      });
      return {
        cluster,
        pass: async () => {
          writer.submit(plan(cluster.snapshot(), node, host(node), Date.now()));
          await writer.settled();
          await Promise.all(posts);
        },
      };
    }),
  );
  const passes = async (): Promise<void> => {
    for (let pass = 0; pass < 3; pass++) await Promise.all(agents.map((agent) => agent.pass()));
  };
  const hasEndpoint = (ready: boolean): boolean =>
    agents.every(
      ({ cluster }) =>
        cluster.snapshot().endpointSlices.some((each) => each.endpoints[0]?.conditions?.ready === ready) &&
        cluster.stores.portMaps.get(`${namespace}/quake`) !== undefined,
    );
  const pod = async (ready: boolean): Promise<void> => {
    await server.client.apply({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { namespace, name: 'quake-1', labels: { 'kubernetes.io/service-name': 'quake' } },
      addressType: 'IPv4',
      ports: [{ name: 'game', protocol: 'UDP', port: 3000 }],
      endpoints: [{ addresses: ['10.244.1.7'], nodeName: 'edge-a', conditions: { ready } }],
    });
    await expect.poll(() => hasEndpoint(ready), { timeout: 5000 }).toBe(true);
    await passes();
  };
  const said = async (): Promise<string[]> => (await events()).map((each) => `${each.type} ${each.reason}`).sort();
  try {
    await pod(true);
    expect(await said()).toEqual([]);
    await pod(false);
    expect(await said()).toEqual(['Warning NoReadyEndpoint']);
    await pod(true);
    expect(await said()).toEqual(['Normal Programmed', 'Warning NoReadyEndpoint']);
    expect(errors).toEqual([]);
  } finally {
    for (const { cluster } of agents) cluster.stop();
  }
});
