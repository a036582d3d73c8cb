/** HTTP over the API: paths, media types, Status objects. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse } from 'yaml';
import { Api, type PatchType, type Target, type WriteOptions, type WriteResult } from './api.ts';
import * as discovery from './discovery.ts';
import { Faults } from './faults.ts';
import type { Json, KubernetesObject } from './objects.ts';
import { groupVersion, type Resource } from './resources.ts';
import { fieldSelector, labelSelector, type Matches } from './selectors.ts';
import { StatusError } from './status-error.ts';
import { table } from './table.ts';
import { serveWatch } from './watch-response.ts';

export interface LoggedRequest {
  method: string;
  path: string;
  user: string;
  status: number;
  milliseconds: number;
}

export interface ApiServerOptions {
  /** Token -> user name. */
  tokens: Readonly<Record<string, string>>;
  log(request: LoggedRequest): void;
}

const patchTypes: Record<string, PatchType> = {
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/json-patch+json': 'json',
  'application/apply-patch+yaml': 'apply',
};

/** A watch without timeoutSeconds ends after this long; real servers choose 30 to 60 minutes. */
const defaultWatchSeconds = 1800;

export class ApiServer {
  readonly api = new Api();
  readonly faults = new Faults();
  readonly #options: ApiServerOptions;

  constructor(options: ApiServerOptions) {
    this.#options = options;
  }

  /** @param trusted true for the lab's own socket, whose callers need no token */
  async handle(request: IncomingMessage, response: ServerResponse, trusted: boolean): Promise<void> {
    const begin = performance.now();
    const url = new URL(request.url ?? '/', 'http://api');
    const path = url.pathname;
    let user = '';
    try {
      user = trusted ? 'lab' : this.#authenticate(request);
      if (trusted && path.startsWith('/lab/')) await this.#control(request, response, path);
      else if (!trusted && this.#hit(path, request, response)) return;
      else await this.#route(request, response, url);
    } catch (error) {
      const status =
        error instanceof StatusError
          ? error
          : new StatusError('InternalError', (error as Error).stack ?? String(error));
      this.#send(response, status.code, status.toObject());
    } finally {
      this.#options.log({
        method: request.method ?? '',
        path: request.url ?? '',
        user,
        status: response.statusCode,
        milliseconds: Math.round(performance.now() - begin),
      });
    }
  }

  #authenticate(request: IncomingMessage): string {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    const user = token === undefined ? undefined : this.#options.tokens[token];
    if (user === undefined) throw new StatusError('Unauthorized', 'Unauthorized');
    return user;
  }

  /** @returns true when a fault has dealt with the request */
  #hit(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    const fault = this.faults.take(path);
    if (fault === null) return false;
    if (fault === 'reset') request.socket.destroy();
    else if (fault === 'gone') throw new StatusError('Expired', 'too old resource version');
    else if (fault === 'error') throw new StatusError('InternalError', 'a fault was asked for');
    else if (fault === 'too-many-requests') {
      response.setHeader('retry-after', '1');
      this.#send(response, 429, {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'TooManyRequests',
        message: 'too many requests',
        code: 429,
      });
    }
    return true;
  }

  /** The lab's own controls, on its socket only. */
  async #control(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const body = (await readBody(request)) as { kind?: 'gone'; path?: string; times?: number } | null;
    if (path === '/lab/faults' && request.method === 'POST')
      this.faults.add(body?.kind ?? 'gone', body?.path ?? '', body?.times ?? 1);
    else if (path === '/lab/faults' && request.method === 'DELETE') this.faults.clear();
    else if (path === '/lab/compact') this.api.store.compact();
    else throw new StatusError('NotFound', `${path} is no control of this server`);
    this.#send(response, 200, { ok: true });
  }

  async #route(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { registry } = this.api;
    const parts = url.pathname
      .split('/')
      .filter((part) => part !== '')
      .map(decodeURIComponent);
    const [first = '', second = '', third = ''] = parts;
    if (first === 'healthz' || first === 'readyz' || first === 'livez') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
    } else if (first === 'version') this.#send(response, 200, discovery.version);
    else if (first === 'openapi') this.#openApi(response, parts);
    else if (first === 'api' && parts.length === 1) this.#send(response, 200, discovery.coreVersions());
    else if (first === 'apis' && parts.length === 1) this.#send(response, 200, discovery.groupList(registry));
    else if (first === 'apis' && parts.length === 2)
      this.#known(discovery.groupNames(registry), second, response, () => discovery.singleGroup(registry, second));
    else if (first === 'api' && parts.length === 2)
      this.#known(['v1'], second, response, () => discovery.resourceList(registry, second));
    else if (first === 'apis' && parts.length === 3) {
      const name = `${second}/${third}`;
      this.#known(discovery.groupVersions(registry), name, response, () => discovery.resourceList(registry, name));
    } else if (first === 'api') await this.#objects(request, response, url, '', second, parts.slice(2));
    else if (first === 'apis') await this.#objects(request, response, url, second, third, parts.slice(3));
    else throw new StatusError('NotFound', 'the server could not find the requested resource');
  }

  #known(names: readonly string[], name: string, response: ServerResponse, answer: () => unknown): void {
    if (!names.includes(name)) throw new StatusError('NotFound', 'the server could not find the requested resource');
    this.#send(response, 200, answer());
  }

  #openApi(response: ServerResponse, parts: readonly string[]): void {
    const { registry } = this.api;
    if (parts[1] !== 'v3') throw new StatusError('NotFound', 'this server describes itself in OpenAPI v3 only');
    if (parts.length === 2) this.#send(response, 200, discovery.openApiIndex(registry));
    else {
      const name = parts.slice(3).join('/');
      this.#known(discovery.groupVersions(registry), name, response, () => discovery.openApi(registry, name));
    }
  }

  async #objects(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    group: string,
    version: string,
    rest: string[],
  ): Promise<void> {
    if (group === 'authorization.k8s.io') {
      // Everyone may do everything here; the question is still answered.
      const body = (await readBody(request)) as KubernetesObject;
      this.#send(response, 201, { ...body, status: { allowed: true } });
      return;
    }
    const namespaced = rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status';
    const namespace = namespaced ? (rest[1] ?? '') : '';
    const [plural = '', name, subresource = ''] = namespaced ? rest.slice(2) : rest;
    const resource = this.api.registry.get(group, version, plural);
    if (resource === undefined || (subresource !== '' && subresource !== 'status')) {
      throw new StatusError('NotFound', 'the server could not find the requested resource');
    }
    if (name === undefined) await this.#collection(request, response, url, resource, namespace);
    else
      await this.#single(request, response, url, {
        resource,
        namespace,
        name,
        subresource: subresource === 'status' ? 'status' : '',
      });
  }

  async #collection(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    resource: Resource,
    namespace: string,
  ): Promise<void> {
    const matches = selection(url);
    const { store, registry } = this.api;
    const key = registry.storageKey(resource);
    if (request.method === 'POST') {
      const result = this.api.create(resource, namespace, await readBody(request), writeOptions(url));
      this.#written(response, 201, request, resource, result);
    } else if (request.method === 'DELETE') {
      for (const object of store.list(key, namespace).filter(matches)) {
        this.api.delete({
          resource,
          namespace: String(object.metadata.namespace ?? ''),
          name: object.metadata.name,
          subresource: '',
        });
      }
      this.#send(response, 200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
    } else if (request.method === 'GET' && ['1', 'true'].includes(url.searchParams.get('watch') ?? '')) {
      const asked = url.searchParams.get('resourceVersion') ?? '';
      serveWatch(response, store, {
        kind: key,
        apiVersion: groupVersion(resource),
        kindName: resource.kind,
        namespace,
        matches,
        version: asked === '' || asked === '0' ? 0 : Number(asked),
        bookmarks: url.searchParams.get('allowWatchBookmarks') === 'true',
        timeoutSeconds: Number(url.searchParams.get('timeoutSeconds') ?? defaultWatchSeconds),
        initialEvents: url.searchParams.get('sendInitialEvents') === 'true' || asked === '' || asked === '0',
        present: (object) => this.#presented(request, url, resource, object),
      });
    } else if (request.method === 'GET')
      this.#list(request, response, url, resource, store.list(key, namespace).filter(matches));
    else throw new StatusError('MethodNotAllowed', `${request.method} is not possible here`);
  }

  #list(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    resource: Resource,
    objects: KubernetesObject[],
  ): void {
    const version = String(this.api.store.version);
    if (wantsTable(request)) {
      this.#send(response, 200, table(resource, objects, version, url.searchParams.get('includeObject') ?? ''));
      return;
    }
    const { items, metadata } = page(objects, url, version);
    this.#send(response, 200, {
      kind: `${resource.kind}List`,
      apiVersion: groupVersion(resource),
      metadata,
      items: items.map((each) => ({ ...each, apiVersion: groupVersion(resource), kind: resource.kind })),
    });
  }

  async #single(request: IncomingMessage, response: ServerResponse, url: URL, target: Target): Promise<void> {
    const { resource } = target;
    if (target.subresource === 'status' && !resource.statusSubresource)
      throw new StatusError('NotFound', 'the server could not find the requested resource');
    if (request.method === 'GET') {
      const object = this.api.get(target);
      if (wantsTable(request))
        this.#send(
          response,
          200,
          table(
            resource,
            [object],
            String(object.metadata.resourceVersion),
            url.searchParams.get('includeObject') ?? '',
          ),
        );
      else this.#send(response, 200, object);
    } else if (request.method === 'PUT') {
      this.#written(
        response,
        200,
        request,
        resource,
        this.api.update(target, await readBody(request), writeOptions(url)),
      );
    } else if (request.method === 'PATCH') {
      const type = patchTypes[(request.headers['content-type'] ?? '').split(';')[0] ?? ''];
      if (type === undefined)
        throw new StatusError('UnsupportedMediaType', `no patch is of type ${request.headers['content-type']}`);
      this.#written(
        response,
        200,
        request,
        resource,
        this.api.patch(target, type, await readBody(request), writeOptions(url)),
      );
    } else if (request.method === 'DELETE') {
      const removed = this.api.delete(target);
      this.#send(response, 200, { ...removed, apiVersion: groupVersion(resource), kind: resource.kind });
    } else throw new StatusError('MethodNotAllowed', `${request.method} is not possible here`);
  }

  #written(
    response: ServerResponse,
    status: number,
    request: IncomingMessage,
    resource: Resource,
    { object, warnings }: WriteResult,
  ): void {
    if (warnings.length > 0)
      response.setHeader(
        'warning',
        warnings.map((each) => `299 - ${JSON.stringify(each)}`),
      );
    const body = { ...object, apiVersion: groupVersion(resource), kind: resource.kind };
    this.#send(
      response,
      status,
      wantsTable(request) ? table(resource, [body], String(object.metadata.resourceVersion), '') : body,
    );
  }

  #presented(request: IncomingMessage, url: URL, resource: Resource, object: KubernetesObject): unknown {
    const whole = { ...object, apiVersion: groupVersion(resource), kind: resource.kind };
    return wantsTable(request)
      ? table(resource, [whole], String(object.metadata.resourceVersion), url.searchParams.get('includeObject') ?? '')
      : whole;
  }

  #send(response: ServerResponse, status: number, body: unknown): void {
    if (response.headersSent) {
      response.end();
      return;
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}

function selection(url: URL): Matches {
  const labels = labelSelector(url.searchParams.get('labelSelector') ?? '');
  const fields = fieldSelector(url.searchParams.get('fieldSelector') ?? '');
  return (object) => labels(object) && fields(object);
}

/** limit and continue: the token is the position in the sorted list. */
function page(
  objects: KubernetesObject[],
  url: URL,
  version: string,
): { items: KubernetesObject[]; metadata: Record<string, unknown> } {
  const limit = Number(url.searchParams.get('limit') ?? 0);
  const start = Number(url.searchParams.get('continue') ?? 0);
  const end = limit > 0 ? start + limit : objects.length;
  const more = end < objects.length;
  return {
    items: objects.slice(start, end),
    metadata: {
      resourceVersion: version,
      ...(more ? { continue: String(end), remainingItemCount: objects.length - end } : {}),
    },
  };
}

function wantsTable(request: IncomingMessage): boolean {
  return (request.headers.accept ?? '').includes('as=Table');
}

function writeOptions(url: URL): WriteOptions {
  const asked = url.searchParams.get('fieldValidation');
  return {
    fieldValidation: asked === 'Strict' || asked === 'Ignore' ? asked : 'Warn',
    dryRun: url.searchParams.get('dryRun') === 'All',
  };
}

/** JSON or YAML; the latter is how kubectl sends a server-side apply. @throws StatusError BadRequest */
async function readBody(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  if (body === '') return null;
  const isYaml = (request.headers['content-type'] ?? '').includes('yaml');
  try {
    return (isYaml ? parse(body) : JSON.parse(body)) as Json;
  } catch (error) {
    throw new StatusError('BadRequest', `the body cannot be read: ${(error as Error).message}`);
  }
}
