/** The kinds that are served: built-in ones, and those that CustomResourceDefinitions add. */
import type { Schema } from './schema.ts';

export interface PrinterColumn {
  name: string;
  type: string;
  jsonPath: string;
  priority?: number;
}

export interface Resource {
  group: string;
  version: string;
  plural: string;
  singular: string;
  kind: string;
  namespaced: boolean;
  shortNames: string[];
  /** Status is a subresource of its own: written there and nowhere else. */
  statusSubresource: boolean;
  /** Present for custom resources: they are validated, defaulted and pruned by it. */
  schema?: Schema;
  columns?: PrinterColumn[];
}

export function groupVersion({ group, version }: Pick<Resource, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `portmaps.kuport.wlz.li`, as error messages name a resource. */
export function qualified({ group, plural }: Pick<Resource, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

function builtIn(
  group: string,
  version: string,
  plural: string,
  kind: string,
  namespaced: boolean,
  shortNames: string[] = [],
): Resource {
  const statusSubresource = ['nodes', 'pods', 'services', 'namespaces', 'customresourcedefinitions'].includes(plural);
  return { group, version, plural, singular: kind.toLowerCase(), kind, namespaced, shortNames, statusSubresource };
}

export const customResourceDefinitions = builtIn(
  'apiextensions.k8s.io',
  'v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
  false,
  ['crd', 'crds'],
);

export const builtInResources: readonly Resource[] = [
  builtIn('', 'v1', 'nodes', 'Node', false, ['no']),
  builtIn('', 'v1', 'namespaces', 'Namespace', false, ['ns']),
  builtIn('', 'v1', 'pods', 'Pod', true, ['po']),
  builtIn('', 'v1', 'services', 'Service', true, ['svc']),
  builtIn('', 'v1', 'configmaps', 'ConfigMap', true, ['cm']),
  builtIn('', 'v1', 'events', 'Event', true, ['ev']),
  builtIn('discovery.k8s.io', 'v1', 'endpointslices', 'EndpointSlice', true),
  builtIn('events.k8s.io', 'v1', 'events', 'Event', true, ['ev']),
  builtIn('coordination.k8s.io', 'v1', 'leases', 'Lease', true),
  customResourceDefinitions,
];

export class Registry {
  readonly #resources = new Map<string, Resource>();

  constructor() {
    for (const resource of builtInResources) this.add(resource);
  }

  add(resource: Resource): void {
    this.#resources.set(`${groupVersion(resource)}/${resource.plural}`, resource);
  }

  remove(group: string, plural: string): void {
    for (const [key, resource] of this.#resources) {
      if (resource.group === group && resource.plural === plural) this.#resources.delete(key);
    }
  }

  get(group: string, version: string, plural: string): Resource | undefined {
    return this.#resources.get(`${groupVersion({ group, version })}/${plural}`);
  }

  all(): Resource[] {
    return [...this.#resources.values()];
  }

  /** Events are one kind under two groups; objects are kept under the older one. */
  storageKey({ group, plural }: Resource): string {
    return group === 'events.k8s.io' ? 'events' : qualified({ group, plural });
  }
}
