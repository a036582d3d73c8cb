/** TLS, tokens, faults, the request log: what surrounds the API on its two doors. */
import { request as httpsRequest } from 'node:https';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeServerCertificates, type ServerCertificates } from './certificates.ts';
import { ClusterClient, ClusterError } from './client.ts';
import { gate, gateVersion, startTestServer, type TestServer } from './fixtures/server.ts';

let lab: TestServer;
let certificates: ServerCertificates;
let address: string;
const clients: ClusterClient[] = [];

beforeAll(async () => {
  certificates = await makeServerCertificates(['127.0.0.1', 'kubernetes.default.svc']);
  const { caPem, serverCertPem, serverKeyPem } = certificates;
  lab = await startTestServer({
    listen: { address: '127.0.0.1', port: 0 },
    tls: { ca: caPem, cert: serverCertPem, key: serverKeyPem },
    tokens: { 'token-a': 'agent:edge-a' },
  });
  address = `https://127.0.0.1:${lab.server.port}`;
});
afterEach(() => lab.client.call('DELETE', '/lab/faults'));
afterAll(async () => {
  for (const client of clients) client.close();
  await lab.close();
});

function overTls(token: string, caPem = certificates.caPem): ClusterClient {
  const client = new ClusterClient({ server: address, caPem, token });
  clients.push(client);
  return client;
}

async function failure(work: Promise<unknown>): Promise<Error & { code?: number }> {
  return work.then(
    () => Promise.reject(new Error('did not fail')),
    (error: Error) => error,
  );
}

describe('TLS', () => {
  it('knows users by token and refuses everyone else', async () => {
    const review = await overTls('token-a').call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {});
    expect(review).toMatchObject({ status: { userInfo: { username: 'agent:edge-a' } } });
    expect(await failure(overTls('wrong').list('v1', 'Node'))).toMatchObject({ code: 401, reason: 'Unauthorized' });
  });

  it('holds for its names only, under its own CA only', async () => {
    const other = await makeServerCertificates(['127.0.0.1']);
    expect((await failure(overTls('token-a', other.caPem).list('v1', 'Node'))).message).toMatch(
      /certificate|signature/i,
    );
    const named = new ClusterClient({
      server: address.replace('127.0.0.1', 'localhost'),
      caPem: certificates.caPem,
      token: 'token-a',
    });
    clients.push(named);
    expect((await failure(named.list('v1', 'Node'))).message).toMatch(/does not match certificate|altnames/i);
  });

  it('tells its health and version without a token', async () => {
    const health = await new Promise<string>((resolve, reject) => {
      const call = httpsRequest(`${address}/readyz`, { ca: certificates.caPem, agent: false }, (response) => {
        response.setEncoding('utf8');
        response.on('data', resolve);
      });
      call.on('error', reject);
      call.end();
    });
    expect(health).toBe('ok');
  });

  it('has no control paths', async () => {
    expect(await failure(overTls('token-a').call('GET', '/lab/faults'))).toMatchObject({ code: 404 });
  });
});

describe('faults', () => {
  it('meet the requests they name, as often as they say, and count them', async () => {
    const agent = overTls('token-a');
    const fault = { effect: 'TooManyRequests', method: 'GET', path: '/nodes', user: 'agent:edge-a', times: 2 };
    await lab.client.call('POST', '/lab/faults', fault);
    expect(await failure(agent.list('v1', 'Node'))).toMatchObject({ code: 429 });
    await expect(lab.client.list('v1', 'Node')).resolves.toBeDefined();
    await expect(agent.list('v1', 'Namespace')).resolves.toBeDefined();
    expect(await failure(agent.list('v1', 'Node'))).toMatchObject({ code: 429 });
    await expect(agent.list('v1', 'Node')).resolves.toBeDefined();
    expect(await lab.client.call('GET', '/lab/faults')).toMatchObject({
      faults: [{ effect: 'TooManyRequests', hits: 2 }],
    });
  });

  it.each([
    ['Expired', { code: 410, reason: 'Expired' }],
    ['Conflict', { code: 409, reason: 'Conflict' }],
    ['Unavailable', { code: 503 }],
    ['Reset', { message: expect.stringMatching(/ECONNRESET|hang up/) }],
    ['Garbage', { name: 'SyntaxError' }],
  ])('%s', async (effect, expected) => {
    const agent = overTls('token-a');
    await agent.list('v1', 'Namespace');
    await lab.client.call('POST', '/lab/faults', { effect, path: '/namespaces', user: 'agent:edge-a' });
    expect(await failure(agent.list('v1', 'Namespace'))).toMatchObject(expected);
  });

  it('Hang holds a request until it is lifted, Delay lets it through late', async () => {
    const agent = overTls('token-a');
    await agent.list('v1', 'Namespace');
    const { id } = await lab.client.call<{ id: number }>('POST', '/lab/faults', {
      effect: 'Hang',
      path: '/namespaces',
      user: 'agent:edge-a',
    });
    const hanging = failure(agent.list('v1', 'Namespace'));
    const first = await Promise.race([hanging, new Promise((resolve) => setTimeout(resolve, 200, 'still waiting'))]);
    expect(first).toBe('still waiting');
    await lab.client.call('DELETE', `/lab/faults/${id}`);
    expect((await hanging).message).toMatch(/hang up|ECONNRESET/);
    await lab.client.call('POST', '/lab/faults', { effect: 'Delay', milliseconds: 150, user: 'agent:edge-a' });
    const start = performance.now();
    await agent.list('v1', 'Namespace');
    expect(performance.now() - start).toBeGreaterThan(140);
  });

  it('Mute answers with headers and nothing more until it is lifted', async () => {
    const { id } = await lab.client.call<{ id: number }>('POST', '/lab/faults', {
      effect: 'Mute',
      path: 'watch=true',
      user: 'agent:edge-a',
    });
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const call = httpsRequest(
        `${address}/api/v1/nodes?watch=true`,
        { ca: certificates.caPem, agent: false, headers: { authorization: 'Bearer token-a' } },
        (response) => {
          let bytes = 0;
          response.on('data', (chunk: Buffer) => {
            bytes += chunk.length;
          });
          response.on('error', () => undefined);
          response.on('close', () => {
            if (bytes === 0) resolve(response.statusCode);
            else reject(new Error(`${bytes} bytes came`));
          });
          setTimeout(() => void lab.client.call('DELETE', `/lab/faults/${id}`), 200);
        },
      );
      call.on('error', reject);
      call.end();
    });
    expect(status).toBe(200);
  });

  it('429 asks to wait as long as the fault says', async () => {
    const agent = overTls('token-a');
    await lab.client.call('POST', '/lab/faults', {
      effect: 'TooManyRequests',
      user: 'agent:edge-a',
      retryAfterSeconds: 7,
    });
    expect(await failure(agent.list('v1', 'Node'))).toMatchObject({ status: { details: { retryAfterSeconds: 7 } } });
  });

  it('that make no sense are refused with the field', async () => {
    const error = await failure(lab.client.call('POST', '/lab/faults', { effect: 'Melt' }));
    expect(error).toMatchObject({ code: 400, message: expect.stringContaining('effect') });
  });

  it('watches can be ended from outside', async () => {
    const { resourceVersion } = await lab.client.list(gateVersion, 'Gate');
    const watch = lab.client.watch(gateVersion, 'Gate', { resourceVersion });
    const first = watch.next();
    await lab.client.create(gate('seen'));
    expect((await first).value).toMatchObject({ type: 'ADDED' });
    const second = watch.next();
    expect(await lab.client.call('GET', '/lab/watches')).toEqual({
      watches: [{ user: expect.any(String), path: expect.stringMatching(/gates$/), milliseconds: expect.any(Number) }],
    });
    expect(await lab.client.call('POST', '/lab/end-watches')).toEqual({ ended: 1 });
    expect(await lab.client.call('GET', '/lab/watches')).toEqual({ watches: [] });
    expect((await second).done).toBe(true);
  });
});

describe('request log', () => {
  it('tells who asked what, with which answer', async () => {
    await failure(overTls('token-a').get('v1', 'Node', 'logged'));
    const lines = (await lab.requests()).filter(({ path }) => path === '/api/v1/nodes/logged');
    expect(lines).toMatchObject([
      { method: 'GET', user: 'agent:edge-a', status: 404, stage: 'answered', level: 'debug' },
    ]);
    expect(lines[0]?.milliseconds).toBeGreaterThanOrEqual(0);
  });
});

describe('the client', () => {
  it('applies: creates, merges, keeps what it does not name, and writes the status too', async () => {
    const status = { phase: 'Open' };
    await lab.client.apply({ ...gate('applied', { protocol: 'TCP' }), status });
    const labelled = {
      ...gate('applied', { port: 9 }),
      metadata: { name: 'applied', namespace: 'default', labels: { a: 'b' } },
    };
    const merged = await lab.client.apply(labelled);
    expect(merged).toMatchObject({ spec: { port: 9, protocol: 'TCP' }, status, metadata: { labels: { a: 'b' } } });
  });

  it('waits for what comes true, through a compaction, and tells what it last saw', async () => {
    await lab.client.create(gate('awaited'));
    const waiting = lab.client.waitFor(
      gateVersion,
      'Gate',
      'awaited',
      'default',
      (found) => found?.metadata.generation === 2,
      5000,
    );
    await lab.client.call('POST', '/lab/end-watches');
    await lab.client.patch(gateVersion, 'Gate', 'awaited', 'default', { spec: { port: 5 } });
    expect((await waiting)?.spec).toMatchObject({ port: 5 });
    const gone = lab.client.waitFor(gateVersion, 'Gate', 'awaited', 'default', (found) => found === undefined, 5000);
    await lab.client.delete(gateVersion, 'Gate', 'awaited', 'default');
    expect(await gone).toBeUndefined();
    const never = lab.client.waitFor(gateVersion, 'Gate', 'awaited', 'default', (found) => found !== undefined, 100);
    expect((await failure(never)).message).toBe(
      'Gate default/awaited did not become what was waited for within 100 ms: it is not there',
    );
  });

  it("carries the server's own words, and says what a call lacks", async () => {
    const error = await failure(lab.client.get(gateVersion, 'Gate', 'none', 'default'));
    expect(error).toBeInstanceOf(ClusterError);
    expect(error.message).toBe(
      'GET /apis/test.kuport.wlz.li/v1/namespaces/default/gates/none: gates.test.kuport.wlz.li "none" not found',
    );
    expect((await failure(lab.client.get(gateVersion, 'Door', 'x', 'default'))).message).toContain(
      'serves no kind Door',
    );
    expect((await failure(lab.client.get(gateVersion, 'Gate', 'x'))).message).toContain('a namespace is needed');
    expect(await lab.client.delete(gateVersion, 'Gate', 'none', 'default')).toBe(false);
    expect((await failure(lab.client.create({ kind: 'Gate' }))).message).toContain('apiVersion');
  });
});
