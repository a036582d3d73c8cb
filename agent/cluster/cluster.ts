/** The cluster as this agent sees it: a store per kind, all kept by watches. */
import type { ClusterSnapshot } from '../plan/snapshot.ts';
import type { ApiClient } from './api-client.ts';
import { Reflector, type ReflectorTimes } from './reflector.ts';
import { type Kinds, type Resource, resources, type StoredObject } from './resources.ts';
import { Store } from './store.ts';

export interface ClusterEvents {
  /** An object differs: `PortMap games/quake changed`. */
  onChange(what: string): void;
  onError(kind: string, error: Error): void;
  /** A kind has been listed, for the first time or after trouble. */
  onSynced(kind: string): void;
}

export class Cluster {
  readonly stores: { [Name in keyof Kinds]: Store<Kinds[Name]> };
  readonly #api: ApiClient;
  readonly #events: ClusterEvents;
  readonly #times: ReflectorTimes | undefined;
  readonly #abort = new AbortController();

  constructor(api: ApiClient, events: ClusterEvents, times?: ReflectorTimes) {
    this.#api = api;
    this.#events = events;
    this.#times = times;
    const store = <Item extends StoredObject>({ kind }: Resource<Item>): Store<Item> =>
      new Store<Item>((key, change) => events.onChange(`${kind} ${key} ${change}`));
    this.stores = {
      nodes: store(resources.nodes),
      namespaces: store(resources.namespaces),
      services: store(resources.services),
      endpointSlices: store(resources.endpointSlices),
      portMaps: store(resources.portMaps),
      classes: store(resources.classes),
      cniConfigs: store(resources.cniConfigs),
    };
  }

  /** Starts the watches. @returns once every kind that must be there has been listed: before that a snapshot would lack objects */
  async start(): Promise<void> {
    const { stores } = this;
    await Promise.all([
      this.#reflect(resources.nodes, stores.nodes),
      this.#reflect(resources.namespaces, stores.namespaces),
      this.#reflect(resources.services, stores.services),
      this.#reflect(resources.endpointSlices, stores.endpointSlices),
      this.#reflect(resources.portMaps, stores.portMaps),
      this.#reflect(resources.classes, stores.classes),
      this.#reflect(resources.cniConfigs, stores.cniConfigs),
    ]);
  }

  stop(): void {
    this.#abort.abort();
  }

  snapshot(): ClusterSnapshot {
    const { nodes, namespaces, services, endpointSlices, portMaps, classes, cniConfigs } = this.stores;
    const cniConfig = cniConfigs.list()[0]?.data;
    return {
      nodes: nodes.list(),
      namespaces: namespaces.list(),
      services: services.list(),
      endpointSlices: endpointSlices.list(),
      portMaps: portMaps.list(),
      classes: classes.list(),
      ...(cniConfig === undefined ? {} : { cniConfig }),
    };
  }

  #reflect<Item extends StoredObject>(resource: Resource<Item>, store: Store<Item>): Promise<void> {
    return new Promise((resolve) => {
      const events = {
        onSynced: () => {
          this.#events.onSynced(resource.kind);
          resolve();
        },
        onError: (error: Error) => {
          this.#events.onError(resource.kind, error);
          if (resource.isOptional) resolve();
        },
      };
      void new Reflector(this.#api, resource, store, events, this.#times).run(this.#abort.signal);
    });
  }
}
