/** The cluster as this agent sees it: copies of all watched kinds. */
import type { ClusterSnapshot } from '../plan/snapshot.ts';
import type { ApiClient } from './api-client.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';
import { listPaths, type ResourceName, type Watched } from './resources.ts';

type Reflectors = { [Name in ResourceName]: Reflector<Watched[Name]> };

export class Cluster {
  readonly reflectors: Reflectors;

  constructor(client: ApiClient, options: ReflectorOptions) {
    const make = <Name extends ResourceName>(name: Name): Reflector<Watched[Name]> =>
      new Reflector<Watched[Name]>(client, listPaths[name], options);
    this.reflectors = {
      nodes: make('nodes'),
      namespaces: make('namespaces'),
      services: make('services'),
      endpointSlices: make('endpointSlices'),
      classes: make('classes'),
      portMaps: make('portMaps'),
    };
  }

  start(): void {
    for (const reflector of Object.values(this.reflectors)) void reflector.run();
  }

  stop(): void {
    for (const reflector of Object.values(this.reflectors)) reflector.stop();
  }

  /** Null until every kind has been read once: half a cluster would plan half the mappings away. */
  snapshot(): ClusterSnapshot | null {
    const { nodes, namespaces, services, endpointSlices, classes, portMaps } = this.reflectors;
    if (!Object.values(this.reflectors).every((reflector) => reflector.synced)) return null;
    return {
      nodes: nodes.items(),
      namespaces: namespaces.items(),
      services: services.items(),
      endpointSlices: endpointSlices.items(),
      classes: classes.items(),
      portMaps: portMaps.items(),
    };
  }
}
