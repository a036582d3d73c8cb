/** Creating, changing and deleting: conflicts, names, finalizers, owners, namespaces, the built-in kinds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClusterError } from '../client.ts';
import { gate, gateVersion } from '../fixtures/server.ts';
import type { KubeObject } from '../object.ts';
import { type ContractServer, startContractServer } from './server.ts';

let lab: ContractServer;
beforeAll(async () => {
  lab = await startContractServer();
});
afterAll(() => lab.close());

async function refusal(work: Promise<unknown>): Promise<{ code: number; reason: string; message: string }> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ClusterError) return { code: error.code, reason: error.reason, message: error.message };
    throw error;
  }
  throw new Error('was not refused');
}

const gates = '/apis/test.kuport.wlz.li/v1/namespaces/default/gates';

function pod(name: string, fields: Record<string, unknown> = {}): KubeObject {
  const spec = { nodeName: 'edge-a', containers: [{ name: 'echo', image: 'lab/echo' }] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec, ...fields };
}

describe('conflicts', () => {
  it('a name that is taken, a version that has passed, an object that was replaced', async () => {
    const first = await lab.client.create(gate('conflict'));
    expect(await refusal(lab.client.create(gate('conflict')))).toMatchObject({
      code: 409,
      reason: 'AlreadyExists',
      message: expect.stringContaining('gates.test.kuport.wlz.li "conflict" already exists'),
    });
    await lab.client.patch(gateVersion, 'Gate', 'conflict', 'default', { spec: { port: 1 } });
    const stale = await refusal(lab.client.replace({ ...first, spec: { className: 'front', port: 2 } }));
    expect(stale).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message: expect.stringContaining(
        'Operation cannot be fulfilled on gates.test.kuport.wlz.li "conflict": the object has been modified',
      ),
    });
    expect(await refusal(lab.client.replaceStatus({ ...first, status: { phase: 'Open' } }))).toMatchObject({
      code: 409,
    });
    const { resourceVersion } = first.metadata;
    const patch = { metadata: { resourceVersion }, spec: { port: 3 } };
    expect(await refusal(lab.client.patch(gateVersion, 'Gate', 'conflict', 'default', patch))).toMatchObject({
      code: 409,
    });
    const other = { ...first, metadata: { ...first.metadata, resourceVersion: undefined, uid: 'other' } };
    expect((await refusal(lab.client.patch(gateVersion, 'Gate', 'conflict', 'default', other))).message).toContain(
      'UID',
    );
  });

  it('of two writers with the same version one wins', async () => {
    const base = await lab.client.create(gate('race'));
    const outcomes = await Promise.allSettled(
      [10, 11].map((port) => lab.client.replace({ ...base, spec: { ...base.spec, port } })),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('a PUT without a version is refused for custom resources and taken for built-in ones', async () => {
    await lab.client.create(gate('unconditional'));
    const answer = await refusal(lab.client.replace(gate('unconditional')));
    expect(answer).toMatchObject({ code: 422, message: expect.stringContaining('must be specified for an update') });
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c', namespace: 'default' },
      data: { a: '1' },
    };
    await lab.client.create(map);
    await expect(lab.client.replace({ ...map, data: { a: '2' } })).resolves.toMatchObject({ data: { a: '2' } });
  });

  it('a change that changes nothing makes no version', async () => {
    const created = await lab.client.create(gate('same'));
    const again = await lab.client.replace(created);
    expect(again.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
  });
});

describe('requests that do not fit', () => {
  it.each<[string, () => Promise<unknown>, number, string]>([
    [
      'a missing object',
      () => lab.client.get(gateVersion, 'Gate', 'none', 'default'),
      404,
      'gates.test.kuport.wlz.li "none" not found',
    ],
    [
      'a missing namespace',
      () => lab.client.create({ ...gate('x'), metadata: { name: 'x', namespace: 'nowhere' } }),
      404,
      'namespaces "nowhere" not found',
    ],
    [
      'another namespace',
      () => lab.client.call('POST', gates.replace('default', 'kube-system'), gate('x')),
      400,
      'does not match',
    ],
    [
      'another kind',
      () => lab.client.call('POST', gates, { ...gate('x'), kind: 'Door' }),
      400,
      'cannot be handled as a Gate',
    ],
    [
      'another version',
      () => lab.client.call('POST', gates, { ...gate('x'), apiVersion: 'v1' }),
      400,
      'does not match the expected',
    ],
    ['no kind', () => lab.client.call('POST', gates, { apiVersion: gateVersion }), 400, "Object 'Kind' is missing"],
    ['another name', () => lab.client.call('PUT', `${gates}/other`, gate('x')), 404, 'not found'],
    ['a name that is none', () => lab.client.create(gate('Not_A_Name')), 422, 'lowercase RFC 1123 subdomain'],
    [
      'labels that are no texts',
      () =>
        lab.client.create({ ...gate('x'), metadata: { name: 'x', namespace: 'default', labels: { a: 1 } } } as never),
      400,
      'metadata.labels',
    ],
    ['a path that is none', () => lab.client.call('GET', '/apis/test.kuport.wlz.li/v1/windows'), 404, 'could not find'],
    ['a method that is none', () => lab.client.call('PUT', gates, gate('x')), 405, 'does not allow'],
  ])('%s', async (_, work, code, message) => {
    expect(await refusal(work())).toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('generates names, and tries a write without doing it', async () => {
    const { name: _, ...metadata } = { ...gate('x').metadata, generateName: 'gate-' };
    const named = await lab.client.call<KubeObject>('POST', gates, { ...gate('x'), metadata });
    expect(named.metadata.name).toMatch(/^gate-[a-z0-9]{5}$/);
    await lab.client.call('POST', `${gates}?dryRun=All`, gate('tried'));
    expect(await lab.client.find(gateVersion, 'Gate', 'tried', 'default')).toBeUndefined();
  });
});

describe('deletion', () => {
  it('waits for finalizers and takes no new ones', async () => {
    await lab.client.create({
      ...gate('held'),
      metadata: { name: 'held', namespace: 'default', finalizers: ['test/hold'] },
    });
    await lab.client.delete(gateVersion, 'Gate', 'held', 'default');
    const held = await lab.client.get(gateVersion, 'Gate', 'held', 'default');
    expect(held.metadata.deletionTimestamp).toMatch(/Z$/);
    const finalizers = (list: string[]) =>
      lab.client.patch(gateVersion, 'Gate', 'held', 'default', { metadata: { finalizers: list } });
    expect((await refusal(finalizers(['test/hold', 'test/more']))).code).toBe(422);
    await finalizers([]);
    expect(await lab.client.find(gateVersion, 'Gate', 'held', 'default')).toBeUndefined();
  });

  it('takes along what nobody else owns', async () => {
    const owners = await Promise.all(['owner-1', 'owner-2'].map((name) => lab.client.create(gate(name))));
    const ownerReferences = owners.map(({ apiVersion, kind, metadata }) => ({
      apiVersion,
      kind,
      name: metadata.name,
      uid: metadata.uid ?? '',
    }));
    const owned = { ...gate('owned'), metadata: { name: 'owned', namespace: 'default', ownerReferences } };
    await lab.client.create(owned);
    await lab.client.delete(gateVersion, 'Gate', 'owner-1', 'default');
    const left = await lab.client.get(gateVersion, 'Gate', 'owned', 'default');
    expect(left.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['owner-2']);
    await lab.client.delete(gateVersion, 'Gate', 'owner-2', 'default');
    expect(await lab.client.find(gateVersion, 'Gate', 'owned', 'default')).toBeUndefined();
  });

  it('of a namespace empties it first, waits for what is held, and lets nothing in', async () => {
    await lab.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'brief' } });
    const inside = (name: string, finalizers: string[] = []): KubeObject => ({
      ...gate(name),
      metadata: { name, namespace: 'brief', finalizers },
    });
    await lab.client.create(inside('free'));
    await lab.client.create(inside('held', ['test/hold']));
    await lab.client.delete('v1', 'Namespace', 'brief');
    expect(await lab.client.get('v1', 'Namespace', 'brief')).toMatchObject({ status: { phase: 'Terminating' } });
    expect((await lab.client.list(gateVersion, 'Gate', { namespace: 'brief' })).items).toHaveLength(1);
    expect(await refusal(lab.client.create(inside('late')))).toMatchObject({ code: 403, reason: 'Forbidden' });
    await lab.client.patch(gateVersion, 'Gate', 'held', 'brief', { metadata: { finalizers: null } });
    expect(await lab.client.find('v1', 'Namespace', 'brief')).toBeUndefined();
  });

  it('of a collection by selector', async () => {
    for (const [name, team] of [
      ['one', 'a'],
      ['two', 'a'],
      ['three', 'b'],
    ] as const) {
      await lab.client.create({
        ...gate(`team-${name}`),
        metadata: { name: `team-${name}`, namespace: 'default', labels: { team } },
      });
    }
    await lab.client.call('DELETE', `${gates}?labelSelector=team%3Da`);
    const { items } = await lab.client.list(gateVersion, 'Gate', { labelSelector: 'team' });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['team-three']);
  });

  it('checks its preconditions', async () => {
    await lab.client.create(gate('precondition'));
    const body = { preconditions: { uid: 'other' } };
    expect(await refusal(lab.client.call('DELETE', `${gates}/precondition`, body))).toMatchObject({ code: 409 });
  });
});

describe('built-in kinds', () => {
  it('a pod has a status of its own and is found by its node', async () => {
    const created = await lab.client.create(pod('echo', { status: { phase: 'Running' } }));
    expect(created).toMatchObject({ status: { phase: 'Pending' }, spec: { restartPolicy: 'Always' } });
    await lab.client.replaceStatus({ ...created, status: { phase: 'Running', podIP: '10.244.1.10' } });
    const { items } = await lab.client.list('v1', 'Pod', {
      fieldSelector: 'spec.nodeName=edge-a,status.phase=Running',
    });
    expect(items).toHaveLength(1);
  });

  it('a node keeps the status it registers with', async () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'edge-a' }, status: { addresses: [] } };
    expect(await lab.client.create(node)).toMatchObject({ status: { addresses: [] } });
  });

  it('a Service gets its defaults and must have ports that make sense', async () => {
    const service = (spec: object): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'default' },
      spec,
    });
    expect((await refusal(lab.client.create(service({})))).message).toContain('spec.ports: Required value');
    const twice = service({ ports: [{ port: 80 }, { port: 70000, name: 'b' }] });
    const { message } = await refusal(lab.client.create(twice));
    expect(message).toContain('spec.ports[0].name: Required value');
    expect(message).toContain('spec.ports[1].port: Invalid value: 70000: must be between 1 and 65535');
    expect(await lab.client.create(service({ ports: [{ port: 80 }] }))).toMatchObject({
      spec: { type: 'ClusterIP', ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }] },
      status: { loadBalancer: {} },
    });
  });

  it('an event of the new kind shows as one of the old kind, and back', async () => {
    const regarding = { kind: 'Pod', namespace: 'default', name: 'echo', uid: 'u1' };
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'echo.1', namespace: 'default' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      regarding,
      note: 'Accepted',
      reason: 'Accepted',
      action: 'Admit',
      type: 'Normal',
      reportingController: 'kuport.wlz.li/agent',
      reportingInstance: 'edge-a',
    };
    const wrong = { ...event, action: '', note: 'x'.repeat(1025), regarding: { ...regarding, namespace: 'games' } };
    const { message } = await refusal(lab.client.create(wrong));
    expect(message).toContain('action: Required value');
    expect(message).toContain('note: Invalid value: "": can have at most 1024 characters');
    expect(message).toContain('involvedObject.namespace: Invalid value: "games": does not match event.namespace');
    await lab.client.create(event);
    const { items } = await lab.client.list('v1', 'Event', {
      fieldSelector: 'involvedObject.name=echo,involvedObject.uid=u1',
    });
    expect(items).toMatchObject([
      { apiVersion: 'v1', involvedObject: regarding, message: 'Accepted', reportingComponent: 'kuport.wlz.li/agent' },
    ]);
    const modern = await lab.client.list('events.k8s.io/v1', 'Event', { fieldSelector: 'regarding.name=echo' });
    expect(modern.items).toMatchObject([{ apiVersion: 'events.k8s.io/v1', note: 'Accepted' }]);
  });

  it('a namespace carries its own name as a label', async () => {
    expect(await lab.client.get('v1', 'Namespace', 'default')).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'default' } },
      status: { phase: 'Active' },
    });
  });
});
