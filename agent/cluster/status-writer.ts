/**
 * Writes what plans say of PortMaps and classes: only where it differs, one request per object at a time, and on a
 * conflict once more with the object as it is by then. Many agents write one class's status.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { apiVersion, type PortMap, type PortMapClass } from '../api/types.ts';
import type { NodePlan } from '../plan/node-plan.ts';
import type { ApiClient } from './api-client.ts';
import { ApiError, isConflict, isNotFound } from './api-error.ts';
import { Backoff } from './backoff.ts';
import type { Cluster } from './cluster.ts';
import { resources, type StoredObject } from './resources.ts';
import { classStatusPlan, mergeClassStatus, mergePortMapStatus } from './status-merge.ts';

export interface StatusWriterEvents {
  onWritten(object: PortMap | PortMapClass, before: PortMap | PortMapClass): void;
  /** A write was refused for good, or failed and will be tried again. */
  onError(what: string, error: Error): void;
}

/** One object's write: how to read it, what it is to become, where it goes. */
interface Job {
  path: string;
  cached(): StoredObject | undefined;
  read(): Promise<StoredObject>;
  /** Null: nothing to write. */
  write(fresh: StoredObject): (() => Promise<void>) | null;
}

/** Attempts against other writers before the next pass has another go. */
const conflictAttempts = 10;

export class StatusWriter {
  readonly #api: ApiClient;
  readonly #cluster: Cluster;
  readonly #events: StatusWriterEvents;
  /** What the latest plan wants of each object that differs. */
  #wanted = new Map<string, Job>();
  readonly #busy = new Map<string, Promise<void>>();

  constructor(api: ApiClient, cluster: Cluster, events: StatusWriterEvents) {
    this.#api = api;
    this.#cluster = cluster;
    this.#events = events;
  }

  /** Takes over what a new plan says; what an older one said and has not been written is forgotten. */
  submit(plan: NodePlan): void {
    this.#wanted = new Map([...this.#portMapJobs(plan), ...this.#classJobs(plan)].map((job) => [job.path, job]));
    for (const path of this.#wanted.keys()) this.#start(path);
  }

  /** @returns once all that was submitted has been written or given up */
  async settled(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy.values());
  }

  #start(path: string): void {
    if (this.#busy.has(path)) return;
    const work = this.#work(path).finally(() => this.#busy.delete(path));
    this.#busy.set(path, work);
  }

  /** Until the latest plan's wish for this object is in force. */
  async #work(path: string): Promise<void> {
    const backoff = new Backoff(500, 30_000);
    for (;;) {
      const job = this.#wanted.get(path);
      if (job === undefined) return;
      try {
        await this.#attempt(job);
        if (this.#wanted.get(path) === job) this.#wanted.delete(path);
      } catch (error) {
        this.#events.onError(`PUT ${path}`, error as Error);
        const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await sleep(Math.max(asked, backoff.next()), undefined, { ref: false });
      }
    }
  }

  async #attempt(job: Job): Promise<void> {
    const jitter = new Backoff(5, 200);
    let object = job.cached();
    for (let attempt = 1; object !== undefined; attempt++) {
      const write = job.write(object);
      if (write === null) return;
      try {
        await write();
        return;
      } catch (error) {
        if (isNotFound(error)) return;
        if (!isConflict(error) || attempt === conflictAttempts) throw error;
        await sleep(jitter.next());
        try {
          object = await job.read();
        } catch (readError) {
          if (isNotFound(readError)) return;
          throw readError;
        }
      }
    }
  }

  #portMapJobs(plan: NodePlan): Job[] {
    const store = this.#cluster.stores.portMaps;
    return plan.portMapStatuses.flatMap((want): Job[] => {
      const { namespace, name } = want;
      const cached = store.get(`${namespace}/${name}`);
      if (cached === undefined || mergePortMapStatus(cached, want, new Date()) === null) return [];
      const path = `/apis/${apiVersion}/namespaces/${namespace}/portmaps/${name}`;
      return [
        {
          path: `${path}/status`,
          cached: () => store.get(`${namespace}/${name}`),
          read: () => this.#api.get<PortMap>(path),
          write: (fresh) => {
            const before = fresh as PortMap;
            const after = mergePortMapStatus(before, want, new Date());
            return after === null
              ? null
              : async () => {
                  const written = resources.portMaps.keep(await this.#api.put(`${path}/status`, after));
                  this.#events.onWritten(written, before);
                  store.setWritten(written, before.metadata.resourceVersion);
                };
          },
        },
      ];
    });
  }

  #classJobs(plan: NodePlan): Job[] {
    const store = this.#cluster.stores.classes;
    return store.list().flatMap((cached): Job[] => {
      const { name } = cached.metadata;
      const want = classStatusPlan(plan, name);
      if (mergeClassStatus(cached, want, new Date()) === null) return [];
      const path = `/apis/${apiVersion}/portmapclasses/${name}`;
      return [
        {
          path: `${path}/status`,
          cached: () => store.get(name),
          read: () => this.#api.get<PortMapClass>(path),
          write: (fresh) => {
            const before = fresh as PortMapClass;
            const after = mergeClassStatus(before, want, new Date());
            return after === null
              ? null
              : async () => {
                  const written = resources.classes.keep(await this.#api.put(`${path}/status`, after));
                  this.#events.onWritten(written, before);
                  store.setWritten(written, before.metadata.resourceVersion);
                };
          },
        },
      ];
    });
  }
}
