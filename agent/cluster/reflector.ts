/**
 * Keeps a store like the API server's objects of one kind: a list, then a watch from where it ended. The informers of
 * @kubernetes/client-node stall without a word on a connection that is open but dead; here silence has a limit.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from './api-client.ts';
import { ApiError, isGone } from './api-error.ts';
import { Backoff } from './backoff.ts';
import type { Resource, StoredObject } from './resources.ts';
import type { Store } from './store.ts';

export interface ReflectorTimes {
  /** How long the server is asked to keep one watch, in seconds; up to twice as long, so that watches end apart. */
  watchSeconds: number;
  /** Silence after which a watch is taken up anew from where it was. A server sends a bookmark about once a minute. */
  idleTimeoutMs: number;
  /** First and longest wait between attempts. */
  firstRetryMs: number;
  longestRetryMs: number;
}

export const defaultTimes: ReflectorTimes = {
  watchSeconds: 300,
  idleTimeoutMs: 75_000,
  firstRetryMs: 200,
  longestRetryMs: 30_000,
};

interface ListAnswer<Item> {
  metadata?: { resourceVersion?: string; continue?: string };
  items?: Item[];
}

interface WatchEvent<Item> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: Item & { code?: number; message?: string };
}

export interface ReflectorEvents {
  /** The store is as the server's list, or the watch has gone on after trouble. */
  onSynced(): void;
  /** An attempt failed; the next follows by itself. */
  onError(error: Error): void;
}

/** Objects of one page of a list. */
const pageSize = 500;

export class Reflector<Item extends StoredObject> {
  readonly #api: ApiClient;
  readonly #resource: Resource<Item>;
  readonly #store: Store<Item>;
  readonly #events: ReflectorEvents;
  readonly #times: ReflectorTimes;
  /** Where the store stands; null: a list is needed. */
  #version: string | null = null;

  constructor(
    api: ApiClient,
    resource: Resource<Item>,
    store: Store<Item>,
    events: ReflectorEvents,
    times: ReflectorTimes = defaultTimes,
  ) {
    this.#api = api;
    this.#resource = resource;
    this.#store = store;
    this.#events = events;
    this.#times = times;
  }

  /** Goes on until the signal is given; never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#times.firstRetryMs, this.#times.longestRetryMs);
    let startedAt = performance.now();
    let isTroubled = false;
    while (!signal.aborted) {
      try {
        startedAt = performance.now();
        if (this.#version === null) {
          this.#version = await this.#list();
          this.#events.onSynced();
        }
        startedAt = performance.now();
        await this.#watch(signal, () => {
          backoff.reset();
          if (isTroubled) this.#events.onSynced();
          isTroubled = false;
        });
      } catch (error) {
        if (signal.aborted) return;
        if (isGone(error)) this.#version = null;
        // Silence alone is no trouble: a server without bookmarks has nothing to say of a quiet cluster.
        else if (this.#version !== null && performance.now() - startedAt >= this.#times.idleTimeoutMs) continue;
        this.#events.onError(error as Error);
        isTroubled = true;
        const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await sleep(Math.max(asked, backoff.next()), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #list(): Promise<string> {
    const items: Item[] = [];
    let page: ListAnswer<Item> = {};
    do {
      page = await this.#api.get<ListAnswer<Item>>(this.#resource.path, {
        labelSelector: this.#resource.labelSelector,
        fieldSelector: this.#resource.fieldSelector,
        limit: pageSize,
        continue: page.metadata?.continue || undefined,
      });
      if (!Array.isArray(page.items) || page.metadata?.resourceVersion === undefined)
        throw new ApiError(`GET ${this.#resource.path}: answer is no list: ${JSON.stringify(page).slice(0, 200)}`, 0);
      items.push(...page.items.map((item) => this.#resource.keep(item)));
    } while (page.metadata?.continue);
    this.#store.replace(items);
    return page.metadata?.resourceVersion ?? '';
  }

  async #watch(signal: AbortSignal, onProgress: () => void): Promise<void> {
    const { watchSeconds, idleTimeoutMs } = this.#times;
    const lines = this.#api.stream(
      this.#resource.path,
      {
        watch: true,
        allowWatchBookmarks: true,
        labelSelector: this.#resource.labelSelector,
        fieldSelector: this.#resource.fieldSelector,
        resourceVersion: this.#version ?? undefined,
        timeoutSeconds: Math.round(watchSeconds * (1 + Math.random())),
      },
      { signal, idleTimeoutMs },
    );
    const startedAt = performance.now();
    for await (const line of lines) {
      this.#take(parseEvent<Item>(line, this.#resource.path));
      onProgress();
    }
    // A server that ends every watch at once must not be asked in a tight loop.
    if (performance.now() - startedAt < 1000) throw new ApiError(`watch of ${this.#resource.path} ended at once`, 0);
  }

  #take({ type, object }: WatchEvent<Item>): void {
    if (type === 'ERROR') {
      throw new ApiError(`watch of ${this.#resource.path}: ${object.code} ${object.message ?? ''}`, object.code ?? 0);
    }
    if (type === 'DELETED') this.#store.delete(object);
    else if (type !== 'BOOKMARK') this.#store.set(this.#resource.keep(object));
    const version = object.metadata?.resourceVersion;
    if (version !== undefined) this.#version = version;
  }
}

function parseEvent<Item>(line: string, path: string): WatchEvent<Item> {
  try {
    const event = JSON.parse(line) as WatchEvent<Item>;
    if (typeof event.type === 'string' && typeof event.object === 'object') return event;
  } catch {
    // Said below.
  }
  throw new ApiError(`watch of ${path}: not an event: ${line.slice(0, 200)}`, 0);
}
