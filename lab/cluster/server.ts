/** The connections: TLS with bearer tokens for the cluster, plain HTTP on a unix socket for the lab's driver. */
import { chmodSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { Api, type Reply } from './api.ts';
import { type ParsedConfig, pem } from './config.ts';
import { answerControl } from './control.ts';
import { publicPaths } from './discovery-paths.ts';
import { Faults } from './faults.ts';
import { parseManifests } from './manifests.ts';
import { type ApiRequest, readBody, type User } from './request.ts';
import { openRequestLog, type RequestLine, type RequestLog } from './request-log.ts';
import { ApiError } from './status.ts';

const admin: User = { name: 'system:admin', groups: ['system:masters', 'system:authenticated'] };
const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

export interface RunningServer {
  api: Api;
  /** Port of the TLS listener; undefined without one. */
  port: number | undefined;
  close(): Promise<void>;
}

/** Who sends a request over TLS: by token, else by a client certificate that the CA signed; undefined for nobody known. */
function authenticate(message: IncomingMessage, tokens: Record<string, string>): User | undefined {
  const token = /^Bearer (.+)$/i.exec(message.headers.authorization ?? '')?.[1];
  const byToken = token === undefined ? undefined : tokens[token];
  if (byToken !== undefined) return { name: byToken, groups: ['system:authenticated'] };
  if (token !== undefined) return undefined;
  const socket = message.socket as TLSSocket;
  const name = socket.authorized ? [socket.getPeerCertificate().subject?.CN].flat()[0] : undefined;
  return name === undefined ? undefined : { name, groups: ['system:authenticated'] };
}

/** Starts everything the configuration names. Throws an Error naming the CRD file, the address or the socket at fault. */
export async function startServer(config: ParsedConfig): Promise<RunningServer> {
  const api = new Api({
    ...(config.historySize === undefined ? {} : { historySize: config.historySize }),
    ...(config.bookmarkSeconds === undefined ? {} : { bookmarkSeconds: config.bookmarkSeconds }),
  });
  loadDefinitions(api, config.crdFolders);
  const faults = new Faults();
  const log = openRequestLog(config.logFile);
  const servers: Server[] = [];

  rmSync(config.unixSocket, { force: true });
  const local = createServer((message, response) => {
    void serve(api, faults, log, message, response, admin, true);
  });
  await listening(local, { path: config.unixSocket }, config.unixSocket);
  chmodSync(config.unixSocket, 0o600);
  servers.push(local);

  let port: number | undefined;
  const { listen, tls } = config;
  if (listen !== undefined && tls !== undefined) {
    const certificates = { ca: pem(tls.ca), cert: pem(tls.cert), key: pem(tls.key) };
    const remote = createTlsServer(
      { ...certificates, requestCert: true, rejectUnauthorized: false },
      (message, response) => {
        const user = authenticate(message, config.tokens);
        void serve(api, faults, log, message, response, user, false);
      },
    );
    await listening(remote, { host: listen.address, port: listen.port }, `${listen.address} port ${listen.port}`);
    port = (remote.address() as AddressInfo).port;
    servers.push(remote);
  }
  return {
    api,
    port,
    async close() {
      api.endWatches();
      faults.lift();
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      for (const server of servers) server.closeAllConnections();
      await Promise.all(closed);
      rmSync(config.unixSocket, { force: true });
      log.close();
    },
  };
}

function listening(
  server: Server,
  where: { path: string } | { host: string; port: number },
  text: string,
): Promise<void> {
  // Idle connections of clients stay usable; Node's default of 5 s would race with a client's next request.
  server.keepAliveTimeout = 120_000;
  server.requestTimeout = 0;
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(new Error(`API server cannot listen on ${text}: ${error.message}`, { cause: error }));
    });
    server.listen(where, resolve);
  });
}

function loadDefinitions(api: Api, folders: readonly string[]): void {
  for (const folder of folders) {
    const files = readdirSync(folder)
      .filter((file) => /\.ya?ml$/.test(file))
      .sort();
    for (const file of files) {
      const path = join(folder, file);
      for (const { object, line } of parseManifests(readFileSync(path, 'utf8'), path)) {
        try {
          api.create(object.apiVersion, object.kind, object.metadata.namespace, object);
        } catch (error) {
          throw new Error(`${path}:${line}: ${object.kind} ${object.metadata.name}: ${(error as Error).message}`, {
            cause: error,
          });
        }
      }
    }
  }
}

async function serve(
  api: Api,
  faults: Faults,
  log: RequestLog,
  message: IncomingMessage,
  response: ServerResponse,
  user: User | undefined,
  isLocal: boolean,
): Promise<void> {
  const start = performance.now();
  const url = new URL(message.url ?? '/', 'http://apiserver');
  const request: ApiRequest = {
    method: message.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    user: user ?? anonymous,
    accept: message.headers.accept,
    contentType: (message.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '',
    body: Buffer.alloc(0),
  };
  const line = (stage: RequestLine['stage']): void => {
    log.write({
      time: new Date().toISOString(),
      level: 'debug',
      stage,
      method: request.method,
      path: request.path,
      query: request.query.toString(),
      user: request.user.name,
      status: response.statusCode,
      milliseconds: Math.round((performance.now() - start) * 10) / 10,
    });
  };
  try {
    request.body = await readBody(message);
    if (user === undefined && !publicPaths.includes(request.path)) {
      throw new ApiError(401, 'Unauthorized', 'Unauthorized');
    }
    const control = isLocal ? answerControl(api, faults, request) : undefined;
    if (control !== undefined) return send(response, control);
    if (await faults.meet(request, response)) return line('cut');
    const reply = api.handle(request, response);
    if (reply !== undefined) send(response, reply);
    else response.on('close', () => line('ended'));
  } catch (error) {
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    send(response, refusal(error));
  }
  line('answered');
}

function refusal(error: unknown): Reply {
  if (error instanceof ApiError) return { code: error.code, body: error.toStatus() };
  const { message, stack } = error as Error;
  process.stderr.write(`${JSON.stringify({ level: 'error', message, stack })}\n`);
  return { code: 500, body: new ApiError(500, 'InternalError', `Internal error occurred: ${message}`).toStatus() };
}

function send(response: ServerResponse, reply: Reply): void {
  const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
  const { details } = (reply.body ?? {}) as { details?: { retryAfterSeconds?: number } };
  const wait = reply.code === 429 || reply.code === 504 ? details?.retryAfterSeconds : undefined;
  const warnings = (reply.warnings ?? []).map((warning) => `299 - ${JSON.stringify(warning)}`);
  if (warnings.length > 0) response.setHeader('warning', warnings);
  response.writeHead(reply.code, {
    'content-type': reply.contentType ?? 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-cache, private',
    ...(wait === undefined ? {} : { 'retry-after': String(wait) }),
  });
  response.end(text);
}
