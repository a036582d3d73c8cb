/**
 * A small API server for tests: real HTTP with list, watch, bookmarks, 410, PUT with 409, and faults on demand. Only
 * what the agent's own client asks for.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface ApiObject {
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    resourceVersion?: string;
    generation?: number;
    labels?: Record<string, string>;
  };
  status?: unknown;
  [field: string]: unknown;
}

interface Event {
  version: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  path: string;
  object: ApiObject;
}

interface Watch {
  collection: string;
  response: ServerResponse;
}

/** What the server does to a request instead of answering it; null: answers. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

export class TestApiServer {
  /** Method and path of every request, in order. */
  readonly requests: string[] = [];
  readonly #server: Server;
  readonly #objects = new Map<string, ApiObject>();
  readonly #events: Event[] = [];
  readonly #watches = new Set<Watch>();
  readonly #sockets = new Set<Socket>();
  #version = 100;
  #oldestKept = 100;
  #fault: Fault | null = null;

  private constructor() {
    this.#server = createServer((request, response) => void this.#handle(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  /** @param at a TCP port of 127.0.0.1 (0: any), or the path of a socket, which other network namespaces reach too */
  static async start(at: number | string = 0): Promise<TestApiServer> {
    const server = new TestApiServer();
    await new Promise<void>((resolve) =>
      typeof at === 'string' ? server.#server.listen(at, resolve) : server.#server.listen(at, '127.0.0.1', resolve),
    );
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get watchCount(): number {
    return this.#watches.size;
  }

  kubeconfig(url = this.url): string {
    return JSON.stringify({
      clusters: [{ name: 'test', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'test', user: { token: 'test' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      'current-context': 'test',
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** @param path of the object, such as /api/v1/nodes/edge-a */
  apply(path: string, object: ApiObject): void {
    this.#store(path, object, this.#objects.has(path) ? 'MODIFIED' : 'ADDED');
  }

  get(path: string): ApiObject | undefined {
    return this.#objects.get(path);
  }

  delete(path: string): void {
    const object = this.#objects.get(path);
    if (object === undefined) throw new Error(`no object at ${path}`);
    this.#objects.delete(path);
    this.#emit('DELETED', path, object);
  }

  /** Forgets history: watches from before must list again. */
  compact(): void {
    this.#oldestKept = this.#version;
  }

  setFault(fault: Fault | null): void {
    this.#fault = fault;
  }

  /** Ends connections without a word. */
  resetConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** From now on nothing is sent on the watches that stand, though their connections stay: as through a dead proxy. */
  muteWatches(): void {
    this.#watches.clear();
  }

  #store(path: string, object: ApiObject, type: 'ADDED' | 'MODIFIED'): ApiObject {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version + 1) } };
    this.#objects.set(path, stored);
    this.#emit(type, path, stored);
    return stored;
  }

  #emit(type: Event['type'], path: string, object: ApiObject): void {
    this.#version += 1;
    const event: Event = {
      type,
      version: this.#version,
      path,
      object: { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } },
    };
    this.#events.push(event);
    for (const watch of this.#watches) send(watch, event);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://api');
    this.requests.push(`${request.method} ${url.pathname}${url.searchParams.has('watch') ? '?watch' : ''}`);
    if (this.#fault?.(request, response)) return;
    if (request.method === 'PUT') await this.#put(url.pathname, request, response);
    else if (url.searchParams.has('watch')) this.#watch(url, response);
    else if (this.#objects.has(url.pathname)) json(response, 200, this.#objects.get(url.pathname));
    else if (/\/(nodes|namespaces|services|endpointslices|configmaps|portmaps|portmapclasses)$/.test(url.pathname))
      this.#list(url.pathname, response);
    else json(response, 404, { kind: 'Status', code: 404, message: `${url.pathname} not found` });
  }

  #list(collection: string, response: ServerResponse): void {
    const items = [...this.#objects].filter(([path]) => isIn(path, collection)).map(([, object]) => object);
    json(response, 200, { kind: 'List', metadata: { resourceVersion: String(this.#version) }, items });
  }

  #watch(url: URL, response: ServerResponse): void {
    const from = Number(url.searchParams.get('resourceVersion') ?? 0);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const watch = { collection: url.pathname, response };
    if (from < this.#oldestKept) {
      const object = { kind: 'Status', code: 410, message: 'too old resource version' };
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
      return;
    }
    for (const event of this.#events.filter((each) => each.version > from)) send(watch, event);
    this.#watches.add(watch);
    response.on('close', () => this.#watches.delete(watch));
  }

  async #put(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const object = JSON.parse(Buffer.concat(chunks).toString()) as ApiObject;
    const objectPath = path.replace(/\/status$/, '');
    const stored = this.#objects.get(objectPath);
    if (stored === undefined) {
      json(response, 404, { kind: 'Status', code: 404, message: `${objectPath} not found` });
    } else if (object.metadata.resourceVersion !== stored.metadata.resourceVersion) {
      const message = `the object has been modified: ${stored.metadata.resourceVersion}`;
      json(response, 409, { kind: 'Status', code: 409, message });
    } else {
      json(response, 200, this.#store(objectPath, { ...stored, status: object.status }, 'MODIFIED'));
    }
  }
}

/** Of kinds with and without a namespace alike: `.../namespaces/games/portmaps/quake` -> `.../portmaps`. */
function collectionOf(path: string): string {
  const collection = path.slice(0, path.lastIndexOf('/'));
  return collection.replace(/\/namespaces\/[^/]+(?=\/)/, '');
}

/** Whether a collection, of a namespace or of all, holds an object. */
function isIn(path: string, collection: string): boolean {
  return collectionOf(path) === collection || path.slice(0, path.lastIndexOf('/')) === collection;
}

function send(watch: Watch, { path, type, object }: Event): void {
  if (isIn(path, watch.collection)) watch.response.write(`${JSON.stringify({ type, object })}\n`);
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
