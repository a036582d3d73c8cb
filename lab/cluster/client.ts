/**
 * The lab's own client of its cluster: over the embedded server's unix socket, or over TLS to a real API server. Objects
 * may be those of @kubernetes/client-node or plain ones; what comes back is plain JSON, so times are texts.
 */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isObject, type KubeObject } from './object.ts';
import type { Status } from './status.ts';

export type ClusterAddress = { socketPath: string } | { server: string; caPem: string; token: string };

/** Anything with a type and a name. */
export interface ApiObject {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata?: { name?: string | undefined; namespace?: string | undefined } | undefined;
}

export interface ListOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface ObjectList<Item> {
  items: Item[];
  /** What a watch continues from. */
  resourceVersion: string;
}

export interface WatchOptions extends ListOptions {
  /** Changes after this version; absent: everything there is as ADDED, then changes. */
  resourceVersion?: string;
  signal?: AbortSignal;
}

export interface WatchEvent<Item> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: Item;
}

/** A refusal of the API server; `status` is what it sent. */
export class ClusterError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly status: Status | undefined;

  constructor(what: string, code: number, body: string) {
    const status = asStatus(body);
    super(`${what}: ${status?.message ?? (body.slice(0, 300) || `HTTP ${code}`)}`);
    this.name = 'ClusterError';
    this.code = code;
    this.reason = status?.reason ?? '';
    this.status = status;
  }
}

function asStatus(body: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) && value.kind === 'Status' ? (value as unknown as Status) : undefined;
  } catch {
    return undefined;
  }
}

interface Served {
  plural: string;
  namespaced: boolean;
  hasStatus: boolean;
}

interface Sent {
  body?: unknown;
  contentType?: string;
  accept?: string;
  signal?: AbortSignal;
}

const mergePatchType = 'application/merge-patch+json';

export class ClusterClient {
  readonly #address: ClusterAddress;
  readonly #agent: HttpAgent;
  readonly #served = new Map<string, Served>();

  constructor(address: ClusterAddress) {
    this.#address = address;
    this.#agent =
      'socketPath' in address
        ? new HttpAgent({ keepAlive: true })
        : new HttpsAgent({ keepAlive: true, ca: address.caPem });
  }

  /** Ends idle connections; a client that is not closed does not keep the process alive. */
  close(): void {
    this.#agent.destroy();
  }

  async list<Item = KubeObject>(
    apiVersion: string,
    kind: string,
    options: ListOptions = {},
  ): Promise<ObjectList<Item>> {
    const path = await this.#path(apiVersion, kind, undefined, options.namespace);
    const list = await this.#call<{ items: Item[]; metadata: { resourceVersion: string } }>(
      'GET',
      withQuery(path, selectors(options)),
    );
    return { items: list.items, resourceVersion: list.metadata.resourceVersion };
  }

  async get<Item = KubeObject>(apiVersion: string, kind: string, name: string, namespace?: string): Promise<Item> {
    return this.#call<Item>('GET', await this.#path(apiVersion, kind, name, namespace));
  }

  /** As get, but undefined for an object that is not there. */
  async find<Item = KubeObject>(
    apiVersion: string,
    kind: string,
    name: string,
    namespace?: string,
  ): Promise<Item | undefined> {
    return orUndefined(this.get<Item>(apiVersion, kind, name, namespace));
  }

  /** Unknown fields are refused, as kubectl has them refused. */
  async create<Item extends ApiObject>(object: Item): Promise<Item> {
    const { apiVersion, kind, namespace } = identity(object, false);
    const path = await this.#path(apiVersion, kind, undefined, namespace);
    return this.#call<Item>('POST', `${path}?fieldValidation=Strict`, { body: object });
  }

  async replace<Item extends ApiObject>(object: Item): Promise<Item> {
    const { apiVersion, kind, name, namespace } = identity(object);
    const path = await this.#path(apiVersion, kind, name, namespace);
    return this.#call<Item>('PUT', `${path}?fieldValidation=Strict`, { body: object });
  }

  async replaceStatus<Item extends ApiObject>(object: Item): Promise<Item> {
    const { apiVersion, kind, name, namespace } = identity(object);
    const path = await this.#path(apiVersion, kind, name, namespace);
    return this.#call<Item>('PUT', `${path}/status`, { body: object });
  }

  /** JSON merge patch: null removes a field, a list replaces a list. */
  async patch<Item = KubeObject>(
    apiVersion: string,
    kind: string,
    name: string,
    namespace: string | undefined,
    body: object,
    subresource?: 'status',
  ): Promise<Item> {
    const path = await this.#path(apiVersion, kind, name, namespace);
    const suffix = subresource === undefined ? '' : `/${subresource}`;
    return this.#call<Item>('PATCH', `${path}${suffix}?fieldValidation=Strict`, { body, contentType: mergePatchType });
  }

  /** Resolves to false where there was nothing to delete. A pod goes at once, without a grace period. */
  async delete(apiVersion: string, kind: string, name: string, namespace?: string): Promise<boolean> {
    const path = await this.#path(apiVersion, kind, name, namespace);
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0, propagationPolicy: 'Background' };
    return (await orUndefined(this.#call('DELETE', path, { body: options }))) !== undefined;
  }

  /**
   * Creates the object, or merges it into the one that is there (fields it does not name stay). A status it carries is
   * written too, through the status subresource where the kind has one.
   */
  async apply<Item extends ApiObject>(object: Item): Promise<Item> {
    const { apiVersion, kind, name, namespace } = identity(object);
    const { status, ...main } = object as Item & { status?: unknown };
    const path = await this.#path(apiVersion, kind, name, namespace);
    const served = await this.#serving(apiVersion, kind);
    const body = served.hasStatus ? main : object;
    const sent = { body, contentType: mergePatchType };
    let result = await orUndefined(this.#call<Item>('PATCH', `${path}?fieldValidation=Strict`, sent));
    result ??= await this.create(body as Item);
    if (!served.hasStatus || status === undefined) return result;
    return this.#call<Item>('PATCH', `${path}/status`, { body: { status }, contentType: mergePatchType });
  }

  /**
   * Events from `resourceVersion` on, until `signal` aborts or the loop is left; ends quietly when the server closes
   * the watch, throws ClusterError with code 410 where the version is too old.
   */
  async *watch<Item = KubeObject>(
    apiVersion: string,
    kind: string,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<Item>> {
    const path = await this.#path(apiVersion, kind, undefined, options.namespace);
    const query = { ...selectors(options), watch: 'true', resourceVersion: options.resourceVersion };
    const url = withQuery(path, query);
    const what = `GET ${url}`;
    const { signal } = options;
    let response: IncomingMessage | undefined;
    try {
      response = await this.#open('GET', url, signal === undefined ? {} : { signal });
      if (response.statusCode !== 200) throw new ClusterError(what, response.statusCode ?? 0, await text(response));
      let rest = '';
      response.setEncoding('utf8');
      for await (const chunk of response as AsyncIterable<string>) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          if (line === '') continue;
          const event = JSON.parse(line) as WatchEvent<Item> | { type: 'ERROR'; object: Status };
          if (event.type === 'ERROR')
            throw new ClusterError(what, event.object.code ?? 500, JSON.stringify(event.object));
          yield event;
        }
      }
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    } finally {
      response?.destroy();
    }
  }

  /**
   * The object as soon as `predicate` holds for it; undefined stands for an object that is not there. Throws an Error
   * that tells how it last looked when `timeoutMs` milliseconds have passed.
   */
  async waitFor<Item = KubeObject>(
    apiVersion: string,
    kind: string,
    name: string,
    namespace: string | undefined,
    predicate: (object: Item | undefined) => boolean,
    timeoutMs: number,
  ): Promise<Item | undefined> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const options = { fieldSelector: `metadata.name=${name}`, ...(namespace === undefined ? {} : { namespace }) };
    let last: Item | undefined;
    while (!deadline.aborted) {
      const { items, resourceVersion } = await this.list<Item>(apiVersion, kind, options);
      last = items[0];
      if (predicate(last)) return last;
      try {
        for await (const event of this.watch<Item>(apiVersion, kind, {
          ...options,
          resourceVersion,
          signal: deadline,
        })) {
          last = event.type === 'DELETED' ? undefined : event.object;
          if (predicate(last)) return last;
        }
      } catch (error) {
        // Too old a version, as after a compaction: list again.
        if (!(error instanceof ClusterError) || error.code !== 410) throw error;
      }
    }
    const where = namespace === undefined ? name : `${namespace}/${name}`;
    const seen = last === undefined ? 'it is not there' : `it last was ${JSON.stringify(last)}`;
    throw new Error(`${kind} ${where} did not become what was waited for within ${timeoutMs} ms: ${seen}`);
  }

  /** A list as the server would have kubectl print it. Throws ClusterError. */
  async table<Answer>(path: string): Promise<Answer> {
    return this.#call<Answer>('GET', path, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
  }

  /** Any other call, such as the control paths of the embedded server. Throws ClusterError. */
  async call<Answer = unknown>(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.#call<Answer>(method, path, body === undefined ? {} : { body });
  }

  async #serving(apiVersion: string, kind: string): Promise<Served> {
    const key = `${apiVersion} ${kind}`;
    // A kind that is not known may have come with a CRD since.
    if (!this.#served.has(key)) await this.#discover(apiVersion);
    const served = this.#served.get(key);
    if (served === undefined) throw new Error(`the cluster serves no kind ${kind} in ${apiVersion}`);
    return served;
  }

  async #discover(apiVersion: string): Promise<void> {
    const root = apiVersion.includes('/') ? 'apis' : 'api';
    const answer = await orUndefined(
      this.#call<{ resources: { name: string; kind: string; namespaced: boolean }[] }>('GET', `/${root}/${apiVersion}`),
    );
    const resources = answer?.resources ?? [];
    for (const { name, kind, namespaced } of resources) {
      if (name.includes('/')) continue;
      const hasStatus = resources.some((other) => other.name === `${name}/status`);
      this.#served.set(`${apiVersion} ${kind}`, { plural: name, namespaced, hasStatus });
    }
  }

  async #path(apiVersion: string, kind: string, name?: string, namespace?: string): Promise<string> {
    const { plural, namespaced } = await this.#serving(apiVersion, kind);
    if (namespaced && name !== undefined && namespace === undefined) {
      throw new Error(`${kind} ${name}: a namespace is needed`);
    }
    const scope = namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
    const own = name === undefined ? '' : `/${encodeURIComponent(name)}`;
    return `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}${scope}/${plural}${own}`;
  }

  async #call<Answer>(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const response = await this.#open(method, path, sent);
    const body = await text(response);
    const code = response.statusCode ?? 0;
    if (code < 200 || code > 299) throw new ClusterError(`${method} ${path}`, code, body);
    return JSON.parse(body) as Answer;
  }

  #open(method: string, path: string, sent: Sent): Promise<IncomingMessage> {
    const address = this.#address;
    const body = sent.body === undefined ? undefined : JSON.stringify(sent.body);
    const options = {
      method,
      agent: this.#agent,
      headers: {
        accept: sent.accept ?? 'application/json',
        ...(body === undefined
          ? {}
          : { 'content-type': sent.contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...('token' in address ? { authorization: `Bearer ${address.token}` } : {}),
      },
      ...(sent.signal === undefined ? {} : { signal: sent.signal }),
    };
    return new Promise((resolve, reject) => {
      const request: ClientRequest =
        'socketPath' in address
          ? httpRequest({ ...options, socketPath: address.socketPath, path }, resolve)
          : httpsRequest(new URL(path, address.server), options, resolve);
      request.on('error', (error) => {
        reject(new Error(`${method} ${path}: ${error.message}`, { cause: error }));
      });
      request.end(body);
    });
  }
}

async function text(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

async function orUndefined<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ClusterError && error.code === 404 && error.reason === 'NotFound') return undefined;
    throw error;
  }
}

function selectors({ labelSelector, fieldSelector }: ListOptions): Record<string, string | undefined> {
  return { labelSelector, fieldSelector };
}

function withQuery(path: string, parameters: Record<string, string | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? path : `${path}?${query}`;
}

function identity(
  object: ApiObject,
  named = true,
): { apiVersion: string; kind: string; name: string; namespace?: string } {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace } = metadata ?? {};
  if (!apiVersion || !kind || (named && !name)) {
    throw new Error(
      `an object needs apiVersion, kind and metadata.name, was ${JSON.stringify({ apiVersion, kind, name })}`,
    );
  }
  return { apiVersion, kind, name: name ?? '', ...(namespace === undefined ? {} : { namespace }) };
}
