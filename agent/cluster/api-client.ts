/** Requests to the API server. Address, credentials and certificates come from @kubernetes/client-node. */
import http from 'node:http';
import https from 'node:https';
import { createInterface } from 'node:readline';
import { createSecureContext } from 'node:tls';
import type { KubeConfig } from '@kubernetes/client-node';
import { ApiError } from './api-error.ts';
import { RateLimit } from './rate-limit.ts';

/** Requests a second and at once. A pass of a busy node writes a few statuses, a restart asks for six lists. */
const requestsPerSecond = 50;
const requestBurst = 100;

/** Tokens in files are rotated, certificates too: read again this often. Milliseconds. */
const credentialsLifetime = 30_000;

/** Without an answer for this long a request has failed. Milliseconds. */
const requestTimeout = 30_000;

/** Sent by the kernel on an idle connection, so that a peer that has vanished is noticed. Milliseconds. */
const keepAliveInterval = 10_000;

type Query = Record<string, string | number | boolean | undefined>;

export interface StreamOptions {
  /** Milliseconds without a byte after which the stream is given up. */
  idleTimeoutMs: number;
  signal: AbortSignal;
}

export class ApiClient {
  readonly #kubeConfig: KubeConfig;
  readonly #server: URL;
  readonly #limit = new RateLimit(requestsPerSecond, requestBurst);
  #options: { value: https.RequestOptions; readAt: number } | null = null;
  #agent: http.Agent | null = null;
  #agentKey = '';

  /** @throws Error when the configuration names no server */
  constructor(kubeConfig: KubeConfig) {
    const cluster = kubeConfig.getCurrentCluster();
    if (cluster === null)
      throw new Error(`the kubeconfig's current context "${kubeConfig.getCurrentContext()}" names no cluster`);
    this.#kubeConfig = kubeConfig;
    this.#server = new URL(cluster.server);
  }

  /** @throws ApiError */
  async get<Body>(path: string, query: Query = {}): Promise<Body> {
    return this.#send<Body>('GET', path, query);
  }

  /** @throws ApiError; status 409 when the object has changed since its resourceVersion */
  async put<Body>(path: string, body: Body): Promise<Body> {
    return this.#send<Body>('PUT', path, {}, JSON.stringify(body));
  }

  /** @throws ApiError; status 409 when an object of that name is there */
  async post<Body>(path: string, body: Body): Promise<Body> {
    return this.#send<Body>('POST', path, {}, JSON.stringify(body));
  }

  async #send<Body>(method: string, path: string, query: Query, body?: string): Promise<Body> {
    const { response, name } = await this.#open(method, path, query, body, requestTimeout);
    const text = await readAll(response, name);
    try {
      return JSON.parse(text) as Body;
    } catch (error) {
      throw new ApiError(`${name}: answer is no JSON (${(error as Error).message}): ${text.slice(0, 200)}`, 0);
    }
  }

  /**
   * Lines of an answer that goes on and on.
   * @throws ApiError when it is refused, broken off or silent for too long; ends when the server ends it
   */
  async *stream(path: string, query: Query, { idleTimeoutMs, signal }: StreamOptions): AsyncGenerator<string> {
    const { response, name } = await this.#open('GET', path, query, undefined, idleTimeoutMs, signal);
    try {
      for await (const line of createInterface({ input: response, crlfDelay: Number.POSITIVE_INFINITY })) {
        if (line !== '') yield line;
      }
      // readline ends quietly when its input is destroyed: say why.
      if (response.errored !== null) throw response.errored;
      if (!response.complete) throw new Error('connection broken off');
    } catch (error) {
      throw error instanceof ApiError ? error : new ApiError(`${name}: ${(error as Error).message}`, 0);
    } finally {
      response.destroy();
    }
  }

  async #open(
    method: string,
    path: string,
    query: Query,
    body: string | undefined,
    idleTimeoutMs: number,
    signal?: AbortSignal,
  ): Promise<{ response: http.IncomingMessage; name: string }> {
    await this.#limit.take();
    const url = new URL(`${this.#server.pathname.replace(/\/$/, '')}${path}`, this.#server);
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    const name = `${method} ${url.origin}${url.pathname}`;
    const options = await this.#requestOptions().catch((error: Error) => {
      throw new ApiError(`${name}: credentials: ${error.message}`, 0);
    });
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const request = (url.protocol === 'https:' ? https : http).request(url, {
        ...options,
        method,
        agent: this.#agent ?? undefined,
        ...(signal === undefined ? {} : { signal }),
        headers: {
          ...options.headers,
          accept: 'application/json',
          'user-agent': 'kuport-agent',
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
      });
      request.setTimeout(idleTimeoutMs, () => request.destroy(new Error(`no byte within ${idleTimeoutMs} ms`)));
      request.on('socket', (socket) => socket.setKeepAlive(true, keepAliveInterval));
      request.on('response', resolve);
      request.on('error', (error) => reject(new ApiError(`${name}: ${error.message}`, 0)));
      request.end(body);
    });
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) return { response, name };
    // The next request reads them afresh: a token may have been rotated.
    if (statusCode === 401) this.#options = null;
    const text = await readAll(response, name).catch(() => '');
    const retryAfter = Number(response.headers['retry-after']);
    throw new ApiError(
      `${name}: ${statusCode} ${response.statusMessage ?? ''}: ${statusMessage(text)}`,
      statusCode,
      Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter * 1000 : undefined,
    );
  }

  /** Connections are kept and shared, except through a proxy, where client-node's own agent knows the way. */
  async #requestOptions(): Promise<https.RequestOptions> {
    const now = performance.now();
    if (this.#options !== null && now - this.#options.readAt < credentialsLifetime) return this.#options.value;
    const value: https.RequestOptions = {};
    await this.#kubeConfig.applyToHTTPSOptions(value);
    const { ca, cert, key, rejectUnauthorized, servername } = value;
    const agentKey = JSON.stringify([ca, cert, key, rejectUnauthorized, servername].map(String));
    if (this.#agent === null || agentKey !== this.#agentKey) {
      this.#agentKey = agentKey;
      const viaProxy = this.#kubeConfig.getCurrentCluster()?.proxyUrl !== undefined;
      this.#agent =
        viaProxy && value.agent instanceof http.Agent
          ? value.agent
          : this.#server.protocol === 'https:'
            ? new https.Agent({
                keepAlive: true,
                // Once for all connections: reading certificates is a third of the cost of making one.
                secureContext: createSecureContext({ ca, cert, key }),
                rejectUnauthorized,
                servername,
              })
            : new http.Agent({ keepAlive: true });
    }
    this.#options = { value: { headers: value.headers, auth: value.auth }, readAt: now };
    return this.#options.value;
  }
}

async function readAll(response: http.IncomingMessage, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    throw new ApiError(`${name}: answer broken off: ${(error as Error).message}`, 0);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The message of a Status object, or the beginning of whatever it is. */
function statusMessage(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text.slice(0, 200);
  } catch {
    return text.slice(0, 200);
  }
}
