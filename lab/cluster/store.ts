/**
 * The objects, in memory, under one counter of versions, with a window of past changes for watches. Everything here is
 * synchronous: a write is compared and made in one turn of the event loop, so no lock is needed and no race is possible.
 * Stored objects are never edited; a change stores a new one.
 */
import type { KubeObject, WatchEventType } from './object.ts';

export interface Change {
  version: number;
  type: WatchEventType;
  object: KubeObject;
  /** What was there before; absent for ADDED. A watch with a selector needs it to tell what leaves its view. */
  previous?: KubeObject;
}

interface Collection {
  objects: Map<string, KubeObject>;
  changes: Change[];
  /** A watch from before this version would miss changes. */
  forgottenUpTo: number;
  listeners: Set<(change: Change) => void>;
}

export interface StoreOptions {
  /** Changes kept per collection. Default 1000. */
  historySize?: number;
  /**
   * Version before the first write. Default: the milliseconds since 1970, so that a restarted server is ahead of
   * every version its clients remember and answers their watches with 410 instead of silence.
   */
  firstVersion?: number;
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

export class Store {
  readonly #collections = new Map<string, Collection>();
  readonly #historySize: number;
  readonly #firstVersion: number;
  #version: number;

  constructor(options: StoreOptions = {}) {
    this.#historySize = options.historySize ?? 1000;
    this.#firstVersion = options.firstVersion ?? Date.now();
    this.#version = this.#firstVersion;
  }

  /** Version of the last change anywhere. */
  get version(): number {
    return this.#version;
  }

  get(collection: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#collection(collection).objects.get(keyOf(namespace, name));
  }

  /** All objects of a collection, or those of one namespace, ordered by namespace and name as etcd's keys are. */
  list(collection: string, namespace?: string): KubeObject[] {
    const { objects } = this.#collection(collection);
    const prefix = namespace === undefined ? '' : `${namespace}/`;
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    return keys.map((key) => objects.get(key)).filter((object) => object !== undefined);
  }

  collections(): string[] {
    return [...this.#collections.keys()];
  }

  /** Stores an object, new or changed, under the next version; returns what was stored. */
  put(collection: string, object: KubeObject): KubeObject {
    const { objects } = this.#collection(collection);
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const previous = objects.get(key);
    const version = ++this.#version;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    objects.set(key, stored);
    this.#record(collection, {
      version,
      type: previous === undefined ? 'ADDED' : 'MODIFIED',
      object: stored,
      ...(previous === undefined ? {} : { previous }),
    });
    return stored;
  }

  /** Removes an object; the last state that watches see carries the version of the removal. */
  remove(collection: string, object: KubeObject): KubeObject {
    const { objects } = this.#collection(collection);
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const previous = objects.get(key);
    if (previous === undefined) return object;
    const version = ++this.#version;
    const last = { ...previous, metadata: { ...previous.metadata, resourceVersion: String(version) } };
    objects.delete(key);
    this.#record(collection, { version, type: 'DELETED', object: last, previous });
    return last;
  }

  /** Forgets past changes, as etcd's compaction does: watches from an older version get 410. */
  compact(): void {
    for (const collection of this.#collections.values()) {
      collection.changes = [];
      collection.forgottenUpTo = this.#version;
    }
  }

  /** Oldest version a watch of this collection may start from. */
  oldestVersion(collection: string): number {
    return this.#collection(collection).forgottenUpTo;
  }

  /** Changes after `version`. The caller has compared it with `oldestVersion`. */
  changesAfter(collection: string, version: number): Change[] {
    return this.#collection(collection).changes.filter((change) => change.version > version);
  }

  /** Calls `listener` on every later change; the returned function ends that. */
  subscribe(collection: string, listener: (change: Change) => void): () => void {
    const { listeners } = this.#collection(collection);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  #collection(name: string): Collection {
    let collection = this.#collections.get(name);
    if (collection === undefined) {
      collection = { objects: new Map(), changes: [], forgottenUpTo: this.#firstVersion, listeners: new Set() };
      this.#collections.set(name, collection);
    }
    return collection;
  }

  #record(name: string, change: Change): void {
    const collection = this.#collection(name);
    collection.changes.push(change);
    // Trimmed in blocks: one splice per hundred changes instead of one per change.
    if (collection.changes.length >= this.#historySize + 100) {
      const dropped = collection.changes.splice(0, collection.changes.length - this.#historySize);
      collection.forgottenUpTo = dropped.at(-1)?.version ?? collection.forgottenUpTo;
    }
    for (const listener of [...collection.listeners]) listener(change);
  }
}
