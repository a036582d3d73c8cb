/** Requests to the API server with the credentials of a kubeconfig or of the pod's ServiceAccount. */
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';

/** The server answered, but not with success. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Milliseconds without an answer after which an ordinary request is given up: a half-open connection says nothing. */
const requestTimeoutMs = 10_000;

export class ApiClient {
  readonly #config: KubeConfig;
  readonly #server: URL;
  // Connections stay open between requests: a TLS handshake costs more than a request.
  readonly #agent = new Agent({ keepAlive: true });

  /** @throws Error when the kubeconfig names no cluster */
  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new Error('the kubeconfig has no current cluster');
    this.#config = config;
    this.#server = new URL(cluster.server);
  }

  /** @throws ApiError, or the connection's own error */
  get<Result>(path: string): Promise<Result> {
    return this.#json<Result>('GET', path);
  }

  /** Replaces an object. @throws ApiError with status 409 when somebody else was faster */
  put<Result>(path: string, body: unknown): Promise<Result> {
    return this.#json<Result>('PUT', path, body);
  }

  /** Opens a stream, e.g. a watch; it ends when the server ends it or `signal` aborts. @throws ApiError */
  async stream(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const response = await this.#send('GET', path, undefined, signal);
    if (response.statusCode === 200) return response;
    throw await failure('GET', path, response);
  }

  async #json<Result>(method: string, path: string, body?: unknown): Promise<Result> {
    const response = await this.#send(method, path, body);
    if ((response.statusCode ?? 500) >= 300) throw await failure(method, path, response);
    return JSON.parse(await text(response)) as Result;
  }

  async #send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<IncomingMessage> {
    const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] = {
      method,
      headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    };
    await this.#config.applyToHTTPSOptions(options);
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(path, this.#server),
        { ...options, agent: this.#agent, ...(signal === undefined ? {} : { signal }) },
        resolve,
      );
      sent.on('error', reject);
      // A watch has its own idle time-out: see reflector.ts.
      sent.setTimeout(requestTimeoutMs, () => {
        sent.destroy(new Error(`${method} ${path}: no answer within ${requestTimeoutMs} ms`));
      });
      sent.on('response', () => {
        if (signal !== undefined) sent.setTimeout(0);
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

async function text(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** The server's own words where it sent a Status object. */
async function failure(method: string, path: string, response: IncomingMessage): Promise<ApiError> {
  const body = await text(response);
  let message = body.slice(0, 500);
  try {
    message = (JSON.parse(body) as { message?: string }).message ?? message;
  } catch {
    // Not a Status object: a proxy's page, perhaps.
  }
  const status = response.statusCode ?? 0;
  return new ApiError(status, `${method} ${path}: ${status} ${message}`);
}
