/** Watches: the changes of a collection as JSON lines on an open response. */
import type { ServerResponse } from 'node:http';
import { type KubeObject, listAt } from './object.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import type { Predicate } from './selectors.ts';
import { type ApiError, expired } from './status.ts';
import type { Change, Store } from './store.ts';
import { type IncludeObject, table } from './table.ts';
import { shown } from './writes.ts';

export interface WatchOptions {
  namespace: string | undefined;
  picked: Predicate;
  /** Changes after this version; undefined or 0: everything there is now as ADDED, then what follows. */
  version: number | undefined;
  /** Everything there is now as ADDED, then a bookmark that says so. */
  sendInitialEvents: boolean;
  bookmarks: boolean;
  bookmarkMilliseconds: number;
  timeoutMilliseconds: number;
  /** Set where the client wants rows. */
  table: IncludeObject | undefined;
}

/** A client that does not read is cut off rather than remembered for: 16 MiB. */
const largestBacklog = 16 * 1024 * 1024;

/** What a change means to a watch that sees only some objects. */
function seen(
  change: Change,
  resource: Resource,
  options: WatchOptions,
): { type: string; object: KubeObject } | undefined {
  const { namespace, picked } = options;
  if (namespace !== undefined && change.object.metadata.namespace !== namespace) return undefined;
  const object = shown(resource, change.object);
  const before = change.previous !== undefined && picked(shown(resource, change.previous));
  if (change.type === 'DELETED') return before ? { type: 'DELETED', object } : undefined;
  const now = picked(object);
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', object };
  return before ? { type: 'DELETED', object } : undefined;
}

/** Serves one watch on `response` until its time is over, the client goes, or `end` is called. */
export class Watch {
  readonly #store: Store;
  readonly #resource: Resource;
  readonly #options: WatchOptions;
  readonly #response: ServerResponse;
  readonly #timers: NodeJS.Timeout[] = [];
  #unsubscribe: () => void = () => {};
  #rowsSent = false;
  #ended = false;

  constructor(store: Store, resource: Resource, options: WatchOptions, response: ServerResponse) {
    this.#store = store;
    this.#resource = resource;
    this.#options = options;
    this.#response = response;
  }

  start(): void {
    const { version, namespace, picked, sendInitialEvents, bookmarks } = this.#options;
    const { collection } = this.#resource;
    this.#response.writeHead(200, { 'content-type': 'application/json' });
    this.#response.flushHeaders();
    this.#response.on('close', () => this.end());
    const fromNow = version === undefined || version === 0 || sendInitialEvents;
    const oldest = this.#store.oldestVersion(collection);
    if (fromNow) {
      for (const stored of this.#store.list(collection, namespace)) {
        const object = shown(this.#resource, stored);
        if (picked(object)) this.#send('ADDED', object);
      }
      if (sendInitialEvents && bookmarks) this.#bookmark({ 'k8s.io/initial-events-end': 'true' });
    } else if (version < oldest) {
      this.fail(expired(version, oldest));
      return;
    } else {
      for (const change of this.#store.changesAfter(collection, version)) this.#sendChange(change);
    }
    const after = fromNow ? 0 : version;
    this.#unsubscribe = this.#store.subscribe(collection, (change) => {
      if (change.version > after) this.#sendChange(change);
    });
    if (bookmarks) {
      this.#timers.push(setInterval(() => this.#bookmark(), this.#options.bookmarkMilliseconds));
    }
    this.#timers.push(
      setTimeout(() => {
        // A last bookmark saves the client a replay of what it has seen.
        if (bookmarks) this.#bookmark();
        this.end();
      }, this.#options.timeoutMilliseconds),
    );
  }

  /** Ends the watch with an ERROR event. */
  fail(error: ApiError): void {
    this.#write('ERROR', error.toStatus());
    this.end();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#response.end();
  }

  #sendChange(change: Change): void {
    const event = seen(change, this.#resource, this.#options);
    if (event !== undefined) this.#send(event.type, event.object);
  }

  #send(type: string, object: KubeObject): void {
    const include = this.#options.table;
    if (include === undefined) {
      this.#write(type, object);
      return;
    }
    const { resourceVersion } = object.metadata;
    const rows = table(this.#resource, [object], resourceVersion === undefined ? {} : { resourceVersion }, include);
    // Only the first table of a watch names its columns.
    this.#write(type, this.#rowsSent ? { ...rows, columnDefinitions: [] } : rows);
    this.#rowsSent = listAt(rows, 'rows').length > 0;
  }

  #bookmark(annotations?: Record<string, string>): void {
    const metadata = {
      resourceVersion: String(this.#store.version),
      creationTimestamp: null,
      ...(annotations === undefined ? {} : { annotations }),
    };
    if (this.#options.table !== undefined) {
      this.#write('BOOKMARK', {
        kind: 'Table',
        apiVersion: 'meta.k8s.io/v1',
        metadata: { resourceVersion: metadata.resourceVersion },
        columnDefinitions: [],
        rows: [{ cells: [], object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata } }],
      });
      return;
    }
    const { kind } = this.#resource;
    this.#write('BOOKMARK', { kind, apiVersion: apiVersionOf(this.#resource), metadata });
  }

  #write(type: string, object: unknown): void {
    this.#response.write(`${JSON.stringify({ type, object })}\n`);
    if (this.#response.writableLength > largestBacklog) this.#response.destroy();
  }
}
