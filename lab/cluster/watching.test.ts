/** Lists and watches: versions, windows, bookmarks, selectors, pages. */
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClusterError } from './client.ts';
import { gate, gateVersion, startTestServer, type TestServer } from './fixtures/server.ts';
import type { KubeObject } from './object.ts';

let lab: TestServer;
beforeEach(async () => {
  lab = await startTestServer({ historySize: 10, bookmarkSeconds: 0.05 });
});
afterEach(() => lab.close());

const gates = '/apis/test.kuport.wlz.li/v1/namespaces/default/gates';

interface Event {
  type: string;
  object: KubeObject & { code?: number; reason?: string; message?: string };
}

/** Raw events of a watch until `enough` says so, or the server ends it. */
async function events(query: string, enough: (seen: Event[]) => boolean = () => false): Promise<Event[]> {
  return new Promise((resolve, reject) => {
    const seen: Event[] = [];
    let rest = '';
    const socketPath = `${lab.folder}/api.sock`;
    const call = request({ socketPath, path: `${gates}?watch=true&${query}` }, (response) => {
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
    await lab.client.create(gate('a'));
    const seen = await events('timeoutSeconds=1', (all) => all.length === 1);
    expect(seen.map(({ type, object }) => [type, object.metadata.name])).toEqual([['ADDED', 'a']]);
  });

  it('from a version tells every later change in order, the deletion under its own version', async () => {
    const { resourceVersion } = await lab.client.list(gateVersion, 'Gate');
    const created = await lab.client.create(gate('a'));
    await lab.client.patch(gateVersion, 'Gate', 'a', 'default', { spec: { port: 1 } });
    const watching = events(`resourceVersion=${resourceVersion}`, (all) => all.length === 3);
    await lab.client.delete(gateVersion, 'Gate', 'a', 'default');
    const seen = await watching;
    expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    const versions = seen.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions[0]).toBe(Number(created.metadata.resourceVersion));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(new Set(versions).size).toBe(3);
  });

  it('from a version that is forgotten ends with 410', async () => {
    const { resourceVersion } = await lab.client.list(gateVersion, 'Gate');
    for (let index = 0; index < 120; index++) {
      await lab.client.apply({ ...gate('a'), spec: { className: 'front', port: index + 1 } });
    }
    const [event, ...more] = await events(`resourceVersion=${resourceVersion}`);
    expect(event).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    expect(event?.object.message).toMatch(/^too old resource version: \d+ \(\d+\)$/);
    expect(more).toEqual([]);
  });

  it('after a compaction knows only what comes', async () => {
    const { resourceVersion } = await lab.client.list(gateVersion, 'Gate');
    await lab.client.create(gate('a'));
    await lab.client.call('POST', '/lab/compact');
    expect((await events(`resourceVersion=${resourceVersion}`))[0]).toMatchObject({ type: 'ERROR' });
    const { resourceVersion: fresh } = await lab.client.list(gateVersion, 'Gate');
    const watching = events(`resourceVersion=${fresh}`, (all) => all.length === 1);
    await lab.client.create(gate('b'));
    expect((await watching)[0]).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'b' } } });
  });

  it('a version of an earlier server is too old for a new one', async () => {
    const { resourceVersion } = await lab.client.list(gateVersion, 'Gate');
    await lab.close();
    lab = await startTestServer();
    expect((await events(`resourceVersion=${resourceVersion}`))[0]).toMatchObject({ object: { code: 410 } });
  });

  it('shows what comes into and leaves the view of a selector', async () => {
    const { resourceVersion } = await lab.client.list(gateVersion, 'Gate');
    const label = (app: string | null) =>
      lab.client.patch(gateVersion, 'Gate', 'a', 'default', { metadata: { labels: { app } } });
    await lab.client.create(gate('a'));
    await label('x');
    await lab.client.patch(gateVersion, 'Gate', 'a', 'default', { spec: { port: 9 } });
    await label(null);
    await lab.client.delete(gateVersion, 'Gate', 'a', 'default');
    const seen = await events(`resourceVersion=${resourceVersion}&labelSelector=app%3Dx&timeoutSeconds=1`);
    expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });

  it('sends bookmarks when allowed, the last one at its end, and none when not', async () => {
    const { resourceVersion } = await lab.client.list(gateVersion, 'Gate');
    const bookmarked = await events(`resourceVersion=${resourceVersion}&timeoutSeconds=1&allowWatchBookmarks=true`);
    expect(bookmarked.length).toBeGreaterThan(5);
    expect(new Set(bookmarked.map(({ type }) => type))).toEqual(new Set(['BOOKMARK']));
    const { version } = lab.server.api.store;
    expect(bookmarked.at(-1)?.object).toMatchObject({
      kind: 'Gate',
      apiVersion: gateVersion,
      metadata: { resourceVersion: String(version) },
    });
    expect(await events(`resourceVersion=${resourceVersion}&timeoutSeconds=1`)).toEqual([]);
  });

  it('marks the end of the initial events where asked', async () => {
    await lab.client.create(gate('a'));
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const [first, second] = await events(query, (all) => all.length === 2);
    expect(first?.type).toBe('ADDED');
    expect(second?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
  });

  it('of one name in another namespace sees nothing', async () => {
    await lab.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    const { resourceVersion } = await lab.client.list(gateVersion, 'Gate');
    await lab.client.create({ ...gate('a'), metadata: { name: 'a', namespace: 'other' } });
    expect(await events(`resourceVersion=${resourceVersion}&timeoutSeconds=1`)).toEqual([]);
  });
});

describe('list', () => {
  it('pages through one moment, whatever happens meanwhile', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await lab.client.create(gate(name));
    interface Page {
      metadata: { continue?: string; remainingItemCount?: number; resourceVersion: string };
      items: KubeObject[];
    }
    const first = await lab.client.call<Page>('GET', `${gates}?limit=2`);
    expect(first.metadata.remainingItemCount).toBe(3);
    await lab.client.delete(gateVersion, 'Gate', 'c', 'default');
    const second = await lab.client.call<Page>('GET', `${gates}?limit=2&continue=${first.metadata.continue}`);
    const third = await lab.client.call<Page>('GET', `${gates}?limit=2&continue=${second.metadata.continue}`);
    const names = [first, second, third].flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(third.metadata.continue).toBeUndefined();
    expect(third.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    await lab.client.call('POST', '/lab/compact');
    expect(await code(lab.client.call('GET', `${gates}?limit=2&continue=${first.metadata.continue}`))).toBe(410);
  });

  it('refuses versions that are no numbers, lie ahead, or are gone', async () => {
    await lab.client.create(gate('a'));
    const { version } = lab.server.api.store;
    expect(await code(lab.client.call('GET', `${gates}?resourceVersion=x`))).toBe(400);
    expect(await code(lab.client.call('GET', `${gates}?resourceVersion=${version + 1}`))).toBe(504);
    expect(await code(lab.client.call('GET', `${gates}?resourceVersion=${version}`))).toBe(200);
    expect(await code(lab.client.call('GET', `${gates}?resourceVersion=0`))).toBe(200);
    const exact = `${gates}?resourceVersionMatch=Exact&resourceVersion=`;
    expect(await code(lab.client.call('GET', `${exact}${version - 1}`))).toBe(410);
    expect(await code(lab.client.call('GET', `${exact}${version}`))).toBe(200);
  });

  it('across namespaces and within one', async () => {
    await lab.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    await lab.client.create(gate('a'));
    await lab.client.create({ ...gate('b'), metadata: { name: 'b', namespace: 'other', labels: { x: 'y' } } });
    const names = async (options: object) =>
      (await lab.client.list(gateVersion, 'Gate', options)).items.map(({ metadata }) => metadata.name);
    expect(await names({})).toEqual(['a', 'b']);
    expect(await names({ namespace: 'other' })).toEqual(['b']);
    expect(await names({ labelSelector: 'x=y' })).toEqual(['b']);
    expect(await names({ fieldSelector: 'metadata.namespace=default' })).toEqual(['a']);
  });
});
