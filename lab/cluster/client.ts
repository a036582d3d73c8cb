/** The lab's own way to the API: a small client over the server's unix socket. */
import { type IncomingMessage, request } from 'node:http';

export interface ApiObject {
  apiVersion?: string;
  kind?: string;
  metadata?: { name?: string; namespace?: string; resourceVersion?: string; labels?: Record<string, string> };
}

/** The server refused; the message is its own. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError';
  /** HTTP status. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface ResourceEntry {
  name: string;
  kind: string;
  singularName: string;
  shortNames?: string[];
  namespaced: boolean;
}

export interface ObjectTable {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: (string | number | boolean | null)[]; object: { metadata: { namespace?: string; name: string } } }[];
}

const tableMediaType = 'application/json;as=Table;v=v1;g=meta.k8s.io';

export class ClusterClient {
  readonly #socketPath: string;
  readonly #resources = new Map<string, Promise<ResourceEntry[]>>();

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  /** @throws ClusterError with status 404 when it is not there */
  async get<Found>(apiVersion: string, kind: string, name: string, namespace = ''): Promise<Found> {
    return (await this.#call('GET', await this.#path(apiVersion, kind, namespace, name))) as Found;
  }

  async list<Found>(apiVersion: string, kind: string, namespace = ''): Promise<Found[]> {
    const list = (await this.#call('GET', await this.#path(apiVersion, kind, namespace))) as { items: Found[] };
    return list.items;
  }

  /** Creates the object, or brings the one that is there to what it says (a merge patch: what it leaves out stays). */
  async apply(object: ApiObject): Promise<'created' | 'configured'> {
    const { apiVersion = '', kind = '', metadata = {} } = object;
    const collection = await this.#path(apiVersion, kind, metadata.namespace ?? '');
    const strict = 'fieldValidation=Strict';
    try {
      await this.#call('POST', `${collection}?${strict}`, object);
      return 'created';
    } catch (error) {
      if (!(error instanceof ClusterError) || error.status !== 409) throw error;
      await this.#call('PATCH', `${collection}/${metadata.name}?${strict}`, object, 'application/merge-patch+json');
      return 'configured';
    }
  }

  /** Deletes the object; that it is not there is no error. @returns whether it was */
  async delete(apiVersion: string, kind: string, name: string, namespace = ''): Promise<boolean> {
    try {
      await this.#call('DELETE', await this.#path(apiVersion, kind, namespace, name));
      return true;
    } catch (error) {
      if (error instanceof ClusterError && error.status === 404) return false;
      throw error;
    }
  }

  /**
   * Objects as the table that `kubectl get` prints.
   * @param word plural, singular, kind or short name, as kubectl takes it
   * @throws ClusterError naming the kinds there are
   */
  async table(word: string): Promise<ObjectTable> {
    return (await this.#call('GET', await this.#pathByWord(word), undefined, undefined, tableMediaType)) as ObjectTable;
  }

  async listByWord(word: string): Promise<unknown[]> {
    return ((await this.#call('GET', await this.#pathByWord(word))) as { items: unknown[] }).items;
  }

  async patchStatus(apiVersion: string, kind: string, name: string, namespace: string, status: unknown): Promise<void> {
    const path = await this.#path(apiVersion, kind, namespace, name);
    await this.#call('PATCH', `${path}/status`, { status }, 'application/merge-patch+json');
  }

  /** Whether the server answers at all. */
  async isReady(): Promise<boolean> {
    try {
      await this.#send('GET', '/readyz');
      return true;
    } catch {
      return false;
    }
  }

  /** Asks the server for trouble with requests over TLS: see faults.ts. */
  async addFault(kind: string, path: string, times: number): Promise<void> {
    await this.#call('POST', '/lab/faults', { kind, path, times });
  }

  async clearFaults(): Promise<void> {
    await this.#call('DELETE', '/lab/faults');
  }

  /** Makes every watch position from before now too old. */
  async compact(): Promise<void> {
    await this.#call('POST', '/lab/compact');
  }

  /** @throws Error when the server serves no such kind */
  async #path(apiVersion: string, kind: string, namespace: string, name?: string): Promise<string> {
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    let resources = this.#resources.get(root);
    if (resources === undefined) {
      resources = this.#call('GET', root).then((list) => (list as { resources: ResourceEntry[] }).resources);
      this.#resources.set(root, resources);
      resources.catch(() => this.#resources.delete(root));
    }
    const found = (await resources.catch(() => [])).find((each) => each.kind === kind && !each.name.includes('/'));
    if (found === undefined)
      throw new ClusterError(404, `the API server serves no ${kind} of ${apiVersion || '(no apiVersion)'}`);
    const scope = found.namespaced && namespace !== '' ? `/namespaces/${namespace}` : '';
    return `${root}${scope}/${found.name}${name === undefined ? '' : `/${name}`}`;
  }

  async #pathByWord(word: string): Promise<string> {
    const groups = (await this.#call('GET', '/apis')) as { groups: { preferredVersion: { groupVersion: string } }[] };
    const roots = ['/api/v1', ...groups.groups.map((group) => `/apis/${group.preferredVersion.groupVersion}`)];
    const known: string[] = [];
    for (const root of roots) {
      const { resources } = (await this.#call('GET', root)) as { resources: ResourceEntry[] };
      for (const { name, kind, singularName, shortNames = [] } of resources) {
        if (name.includes('/')) continue;
        if ([name, kind.toLowerCase(), singularName, ...shortNames].includes(word.toLowerCase()))
          return `${root}/${name}`;
        known.push(name);
      }
    }
    throw new ClusterError(404, `the lab's API serves no "${word}": it serves ${known.sort().join(', ')}`);
  }

  async #call(
    method: string,
    path: string,
    body?: unknown,
    contentType = 'application/json',
    accept = 'application/json',
  ): Promise<unknown> {
    const response = await this.#send(method, path, body, contentType, accept);
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const answer = JSON.parse(Buffer.concat(chunks).toString() || 'null') as { message?: string } | null;
    if ((response.statusCode ?? 500) >= 300)
      throw new ClusterError(response.statusCode ?? 500, answer?.message ?? `${method} ${path} failed`);
    return answer;
  }

  #send(
    method: string,
    path: string,
    body?: unknown,
    contentType = 'application/json',
    accept = 'application/json',
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request(
        { socketPath: this.#socketPath, method, path, headers: { 'content-type': contentType, accept } },
        resolve,
      );
      sent.setTimeout(10_000, () =>
        sent.destroy(new Error(`${method} ${path}: the API server did not answer within 10 s`)),
      );
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
