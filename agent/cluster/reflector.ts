/**
 * Keeps a local copy of one kind: list, then watch from there, and again whenever the stream ends. The informers of
 * @kubernetes/client-node are known to stall without a sign when a connection dies half-open; here silence has a limit.
 */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, ApiError } from './api-client.ts';

export interface StoredObject {
  metadata?: { namespace?: string; name?: string; resourceVersion?: string };
}

export interface ReflectorOptions {
  /** Something in the copy changed, or it was read for the first time. */
  onChange(): void;
  /** A list or watch failed and will be tried again after this many milliseconds. */
  onRetry(error: Error, delayMs: number): void;
}

/** Asked of the server: it ends a watch after this many seconds, so that a lost one cannot last. */
const watchSeconds = 300;

/** A real server sends a bookmark about once a minute; a stream silent for this long, in milliseconds, is dead. */
const idleLimitMs = 90_000;

const firstDelayMs = 50;
const longestDelayMs = 10_000;

interface WatchEvent<Item> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: Item & { code?: number; message?: string };
}

export function objectKey({ metadata }: StoredObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

export class Reflector<Item extends StoredObject> {
  readonly #client: ApiClient;
  readonly #path: string;
  readonly #options: ReflectorOptions;
  readonly #items = new Map<string, Item>();
  readonly #stop = new AbortController();
  #version: string | null = null;
  #synced = false;

  constructor(client: ApiClient, path: string, options: ReflectorOptions) {
    this.#client = client;
    this.#path = path;
    this.#options = options;
  }

  /** True once the first list has been read. */
  get synced(): boolean {
    return this.#synced;
  }

  items(): Item[] {
    return [...this.#items.values()];
  }

  get(key: string): Item | undefined {
    return this.#items.get(key);
  }

  /** What a write of our own gave back, ahead of the watch: the next pass must not work from what we know is old. */
  learn(item: Item): void {
    const key = objectKey(item);
    const known = this.#items.get(key);
    if (known !== undefined && isNewer(item, known)) this.#items.set(key, item);
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Runs until stopped. */
  async run(): Promise<void> {
    let delay = firstDelayMs;
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#version === null) await this.#list();
        const heard = await this.#watch();
        if (heard) delay = firstDelayMs;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        // Too old a version: what happened since is only in a new list.
        if (error instanceof ApiError && error.status === 410) this.#version = null;
        // Jitter, so that many agents do not come back in step.
        const wait = delay * (0.5 + Math.random());
        this.#options.onRetry(error as Error, Math.round(wait));
        await sleep(wait, undefined, { signal: this.#stop.signal }).catch(() => undefined);
        delay = Math.min(delay * 2, longestDelayMs);
      }
    }
  }

  async #list(): Promise<void> {
    const list = await this.#client.get<{ metadata: { resourceVersion: string }; items: Item[] }>(this.#path);
    this.#items.clear();
    for (const item of list.items) this.#items.set(objectKey(item), item);
    this.#version = list.metadata.resourceVersion;
    this.#synced = true;
    this.#options.onChange();
  }

  /** @returns whether the server said anything before it ended the stream */
  async #watch(): Promise<boolean> {
    const abort = new AbortController();
    const onStop = (): void => abort.abort();
    this.#stop.signal.addEventListener('abort', onStop);
    let idle: NodeJS.Timeout | undefined;
    let silent = false;
    const awake = (): void => {
      clearTimeout(idle);
      idle = setTimeout(() => {
        silent = true;
        abort.abort();
      }, idleLimitMs);
    };
    try {
      const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}&resourceVersion=${this.#version}`;
      const stream = await this.#client.stream(`${this.#path}?${query}`, abort.signal);
      awake();
      let heard = false;
      for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
        awake();
        heard = true;
        if (line !== '') this.#take(JSON.parse(line) as WatchEvent<Item>);
      }
      return heard;
    } catch (error) {
      if (silent) throw new Error(`watch of ${this.#path}: nothing heard for ${idleLimitMs} ms`);
      throw error;
    } finally {
      clearTimeout(idle);
      this.#stop.signal.removeEventListener('abort', onStop);
      abort.abort();
    }
  }

  #take({ type, object }: WatchEvent<Item>): void {
    if (type === 'ERROR')
      throw new ApiError(object.code ?? 500, `watch of ${this.#path}: ${object.message ?? 'error'}`);
    this.#version = object.metadata?.resourceVersion ?? this.#version;
    if (type === 'BOOKMARK') return;
    const key = objectKey(object);
    const known = this.#items.get(key);
    if (type === 'DELETED') this.#items.delete(key);
    else if (known === undefined || !isNewer(known, object)) this.#items.set(key, object);
    this.#options.onChange();
  }
}

/** Versions of one object are decimal numbers in every server there is; where they are not, the later heard wins. */
function isNewer(a: StoredObject, b: StoredObject): boolean {
  const [left, right] = [a, b].map((each) => Number(each.metadata?.resourceVersion));
  return Number.isSafeInteger(left) && Number.isSafeInteger(right) ? (left ?? 0) > (right ?? 0) : false;
}
