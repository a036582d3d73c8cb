/** Objects in memory with a version that only grows, and the history that watches read from. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { copy, isObject, type KubernetesObject } from './objects.ts';
import { StatusError } from './status-error.ts';

export interface StoreEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  version: number;
  object: KubernetesObject;
  /** The object before, for watches by selector: one that no longer matches is DELETED to them. */
  previous: KubernetesObject | null;
}

/** Events kept per kind; a watch from before them is told 410 Gone. */
const historyLength = 2000;

class Kind {
  readonly objects = new Map<string, KubernetesObject>();
  readonly history: StoreEvent[] = [];
  readonly listeners = new Set<(event: StoreEvent) => void>();
  /** Version of the newest event that the history no longer has. */
  forgotten = 0;
}

export function objectKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

export class Store {
  readonly #kinds = new Map<string, Kind>();
  #version = 1;

  get version(): number {
    return this.#version;
  }

  get(kind: string, namespace: string, name: string): KubernetesObject | undefined {
    return this.#kind(kind).objects.get(objectKey(namespace, name));
  }

  list(kind: string, namespace: string): KubernetesObject[] {
    const all = [...this.#kind(kind).objects.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
    return all.filter(([key]) => namespace === '' || key.startsWith(`${namespace}/`)).map(([, object]) => object);
  }

  /** @throws StatusError AlreadyExists */
  create(kind: string, object: KubernetesObject): KubernetesObject {
    const { name } = object.metadata;
    const namespace = String(object.metadata.namespace ?? '');
    if (this.get(kind, namespace, name) !== undefined)
      throw new StatusError('AlreadyExists', `${kind} "${name}" already exists`, { name, kind });
    const stored = copy(object);
    stored.metadata = {
      ...stored.metadata,
      uid: randomUUID(),
      creationTimestamp: new Date().toISOString().replace(/\.\d+Z/, 'Z'),
      generation: 1,
    };
    return this.#commit(kind, 'ADDED', stored, null);
  }

  /** An update that changes nothing makes no event and no new version, as on a real server. */
  replace(kind: string, object: KubernetesObject): KubernetesObject {
    const { name } = object.metadata;
    const previous = this.get(kind, String(object.metadata.namespace ?? ''), name);
    if (previous === undefined) throw new StatusError('NotFound', `${kind} "${name}" not found`, { name, kind });
    const stored = copy(object);
    const { uid, creationTimestamp, resourceVersion, generation = 1 } = previous.metadata;
    Object.assign(stored.metadata, { uid, creationTimestamp, resourceVersion, generation });
    if (isDeepStrictEqual(stored, previous)) return previous;
    if (!isDeepStrictEqual(stored.spec, previous.spec)) stored.metadata.generation = Number(generation) + 1;
    return this.#commit(kind, 'MODIFIED', stored, previous);
  }

  remove(kind: string, namespace: string, name: string): KubernetesObject {
    const object = this.get(kind, namespace, name);
    if (object === undefined) throw new StatusError('NotFound', `${kind} "${name}" not found`, { name, kind });
    return this.#commit(kind, 'DELETED', copy(object), object);
  }

  /**
   * Events after `version`, at once and as they come, until the returned function is called.
   * @throws StatusError Expired when the history no longer reaches back to it
   */
  watch(kind: string, version: number, listener: (event: StoreEvent) => void): () => void {
    const { history, listeners, forgotten } = this.#kind(kind);
    if (version < forgotten) {
      throw new StatusError('Expired', `too old resource version: ${version} (${forgotten})`);
    }
    for (const event of history) if (event.version > version) listener(event);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Forgets all history, so that every watch from before now is told 410 Gone. */
  compact(): void {
    for (const kind of this.#kinds.values()) {
      kind.history.length = 0;
      kind.forgotten = this.#version;
    }
  }

  #kind(name: string): Kind {
    let kind = this.#kinds.get(name);
    if (kind === undefined) {
      kind = new Kind();
      this.#kinds.set(name, kind);
    }
    return kind;
  }

  #commit(
    kindName: string,
    type: StoreEvent['type'],
    object: KubernetesObject,
    previous: KubernetesObject | null,
  ): KubernetesObject {
    const kind = this.#kind(kindName);
    const version = ++this.#version;
    object.metadata.resourceVersion = String(version);
    const { namespace, name } = object.metadata;
    const key = objectKey(String(namespace ?? ''), name);
    if (type === 'DELETED') kind.objects.delete(key);
    else kind.objects.set(key, object);
    const event = { type, version, object, previous };
    kind.history.push(event);
    if (kind.history.length > historyLength) kind.forgotten = kind.history.shift()?.version ?? kind.forgotten;
    for (const listener of kind.listeners) listener(event);
    return object;
  }
}

/** True where the object names finalizers that have still to do their work. */
export function hasFinalizers({ metadata }: KubernetesObject): boolean {
  return Array.isArray(metadata.finalizers) && metadata.finalizers.length > 0;
}

export function isDeleting(object: KubernetesObject): boolean {
  return isObject(object.metadata) && object.metadata.deletionTimestamp !== undefined;
}
