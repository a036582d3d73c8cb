/** Lists and watches: versions, bookmarks, 410, selectors, pages. */
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ClusterError } from '../client.ts';
import { gate, gateVersion } from '../fixtures/server.ts';
import type { KubeObject } from '../object.ts';
import { type ContractServer, startContractServer } from './server.ts';

let lab: ContractServer;
/** Each test's own. */
let namespace = '';
let count = 0;
beforeAll(async () => {
  lab = await startContractServer();
});
afterAll(() => lab.close());
beforeEach(async () => {
  namespace = `watching-${count++}`;
  await lab.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
});

const path = (): string => `/apis/test.kuport.wlz.li/v1/namespaces/${namespace}/gates`;
const mine = (name: string, labels: Record<string, string> = {}): ReturnType<typeof gate> => ({
  ...gate(name),
  metadata: { name, namespace, labels },
});
const list = () => lab.client.list(gateVersion, 'Gate', { namespace });

interface Event {
  type: string;
  object: KubeObject & { code?: number; reason?: string; message?: string };
}

/** Raw events of a watch until `enough` says so, or the server ends it. */
async function events(query: string, enough: (seen: Event[]) => boolean = () => false): Promise<Event[]> {
  return new Promise((resolve, reject) => {
    const seen: Event[] = [];
    let rest = '';
    const call = request({ socketPath: lab.socketPath, path: `${path()}?watch=true&${query}` }, (response) => {
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        seen.push(...lines.map((line) => JSON.parse(line) as Event));
        if (enough(seen)) {
          response.destroy();
          resolve(seen);
        }
      });
      response.on('end', () => resolve(seen));
    });
    call.on('error', reject);
    call.end();
  });
}

async function code(work: Promise<unknown>): Promise<number> {
  return work.then(
    () => 200,
    (error: unknown) => (error instanceof ClusterError ? error.code : -1),
  );
}

describe('watch', () => {
  it('without a version begins with what is there', async () => {
    await lab.client.create(mine('a'));
    const seen = await events('timeoutSeconds=2', (all) => all.length === 1);
    expect(seen.map(({ type, object }) => [type, object.metadata.name])).toEqual([['ADDED', 'a']]);
  });

  it('from a version tells every later change in order, the deletion under its own version', async () => {
    const { resourceVersion } = await list();
    const created = await lab.client.create(mine('a'));
    await lab.client.patch(gateVersion, 'Gate', 'a', namespace, { spec: { port: 1 } });
    const watching = events(`resourceVersion=${resourceVersion}`, (all) => all.length === 3);
    await lab.client.delete(gateVersion, 'Gate', 'a', namespace);
    const seen = await watching;
    expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    const versions = seen.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions[0]).toBe(Number(created.metadata.resourceVersion));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(new Set(versions).size).toBe(3);
  });

  it('from a version that is forgotten ends with 410', async () => {
    await lab.client.create(mine('a'));
    const [event, ...more] = await events('resourceVersion=1');
    expect(event).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    expect(event?.object.message).toMatch(/^too old resource version: 1 \(\d+\)$/);
    expect(more).toEqual([]);
  });

  it('shows what comes into and leaves the view of a selector', async () => {
    const { resourceVersion } = await list();
    const label = (app: string | null) =>
      lab.client.patch(gateVersion, 'Gate', 'a', namespace, { metadata: { labels: { app } } });
    await lab.client.create(mine('a'));
    await label('x');
    await lab.client.patch(gateVersion, 'Gate', 'a', namespace, { spec: { port: 9 } });
    await label(null);
    await lab.client.delete(gateVersion, 'Gate', 'a', namespace);
    const seen = await events(`resourceVersion=${resourceVersion}&labelSelector=app%3Dx&timeoutSeconds=2`);
    expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });

  it('sends a bookmark before its end when allowed, and none when not', async () => {
    const { resourceVersion } = await list();
    await lab.client.create(mine('a'));
    const query = `resourceVersion=${resourceVersion}&timeoutSeconds=5`;
    const [allowed, not] = await Promise.all([events(`${query}&allowWatchBookmarks=true`), events(query)]);
    expect(allowed.map(({ type }) => type)[0]).toBe('ADDED');
    const bookmark = allowed.at(-1);
    expect(bookmark).toMatchObject({ type: 'BOOKMARK', object: { kind: 'Gate', apiVersion: gateVersion } });
    expect(Number(bookmark?.object.metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion));
    expect(not.map(({ type }) => type)).toEqual(['ADDED']);
  });

  it('marks the end of the initial events where asked', async () => {
    await lab.client.create(mine('a'));
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const [first, second] = await events(query, (all) => all.length === 2);
    expect(first?.type).toBe('ADDED');
    expect(second?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
  });

  it('of one namespace sees nothing of another', async () => {
    const { resourceVersion } = await list();
    await lab.client.create(gate(`elsewhere-${namespace}`));
    expect(await events(`resourceVersion=${resourceVersion}&timeoutSeconds=1`)).toEqual([]);
  });
});

describe('list', () => {
  it('pages through one moment, whatever happens meanwhile', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await lab.client.create(mine(name));
    interface Page {
      metadata: { continue?: string; remainingItemCount?: number; resourceVersion: string };
      items: KubeObject[];
    }
    const page = (query: string) => lab.client.call<Page>('GET', `${path()}?limit=2${query}`);
    const first = await page('');
    expect(first.metadata.remainingItemCount).toBe(3);
    await lab.client.delete(gateVersion, 'Gate', 'c', namespace);
    const second = await page(`&continue=${first.metadata.continue}`);
    const third = await page(`&continue=${second.metadata.continue}`);
    const names = [first, second, third].flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(third.metadata.continue ?? '').toBe('');
    expect(third.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  it('refuses versions that are no numbers or lie ahead', async () => {
    await lab.client.create(mine('a'));
    const version = Number((await list()).resourceVersion);
    expect(await code(lab.client.call('GET', `${path()}?resourceVersion=x`))).toBe(400);
    expect(await code(lab.client.call('GET', `${path()}?resourceVersion=${version + 1000}`))).toBe(504);
    expect(await code(lab.client.call('GET', `${path()}?resourceVersion=${version}`))).toBe(200);
    expect(await code(lab.client.call('GET', `${path()}?resourceVersion=0`))).toBe(200);
  });

  it('selects by label and by field', async () => {
    await lab.client.create(mine('a'));
    await lab.client.create(mine('b', { app: 'echo', size: '5' }));
    const names = async (options: object) =>
      (await lab.client.list(gateVersion, 'Gate', { namespace, ...options })).items.map(
        ({ metadata }) => metadata.name,
      );
    expect(await names({})).toEqual(['a', 'b']);
    const byLabel: [string, string[]][] = [
      ['app=echo', ['b']],
      ['app==echo', ['b']],
      ['app!=echo', ['a']],
      ['app', ['b']],
      ['!app', ['a']],
      ['app in (a, echo)', ['b']],
      ['app notin (echo)', ['a']],
      ['size>4', ['b']],
      ['size<4', []],
      ['app=echo,!size', []],
    ];
    for (const [labelSelector, expected] of byLabel)
      expect([labelSelector, await names({ labelSelector })]).toEqual([labelSelector, expected]);
    for (const labelSelector of ['=x', 'a in b', '!a=b', 'a b']) expect(await code(names({ labelSelector }))).toBe(400);
    expect(await names({ fieldSelector: 'metadata.name=a' })).toEqual(['a']);
    expect(await names({ fieldSelector: 'metadata.name!=a' })).toEqual(['b']);
    expect(await names({ fieldSelector: `metadata.namespace=${namespace}` })).toEqual(['a', 'b']);
    expect(await code(names({ fieldSelector: 'spec.colour=red' }))).toBe(400);
  });
});

describe('patches', () => {
  const send = (contentType: string, body: unknown): Promise<{ code: number; object: KubeObject }> =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const headers = { 'content-type': contentType, 'content-length': Buffer.byteLength(text) };
      const options = { socketPath: lab.socketPath, path: `${path()}/a`, method: 'PATCH', headers };
      const call = request(options, (response) => {
        let answer = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          answer += chunk;
        });
        response.on('end', () => resolve({ code: response.statusCode ?? 0, object: JSON.parse(answer) as KubeObject }));
      });
      call.on('error', reject);
      call.end(text);
    });

  it('merge patch: null removes, a list replaces a list', async () => {
    await lab.client.create({
      ...mine('a'),
      spec: { className: 'front', port: 1, endPort: 2, interfaces: ['x', 'y'] },
    });
    const { code: status, object } = await send('application/merge-patch+json', {
      spec: { interfaces: ['z'] },
      metadata: { labels: { k: null } },
    });
    expect(status).toBe(200);
    expect(object.spec).toMatchObject({ interfaces: ['z'], endPort: 2 });
  });

  it('JSON patch: a test that fails and a path that is missing refuse the whole', async () => {
    await lab.client.create({ ...mine('a'), spec: { className: 'front', port: 1, interfaces: ['x'] } });
    const patch = (operations: object[]) => send('application/json-patch+json', operations);
    expect(
      (
        await patch([
          { op: 'test', path: '/spec/port', value: 1 },
          { op: 'add', path: '/spec/interfaces/-', value: 'y' },
        ])
      ).object.spec,
    ).toMatchObject({ interfaces: ['x', 'y'] });
    const failing = await patch([
      { op: 'replace', path: '/spec/port', value: 5 },
      { op: 'test', path: '/spec/port', value: 1 },
    ]);
    expect(failing.code).toBe(422);
    expect((await patch([{ op: 'remove', path: '/spec/none' }])).code).toBe(422);
    expect((await lab.client.get<KubeObject>(gateVersion, 'Gate', 'a', namespace)).spec).toMatchObject({ port: 1 });
  });

  it('strategic merge patch is not for custom resources', async () => {
    await lab.client.create(mine('a'));
    expect((await send('application/strategic-merge-patch+json', { spec: { port: 1 } })).code).toBe(415);
  });
});
