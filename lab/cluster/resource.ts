/** What the server serves: one definition per resource and version, and the registry that requests look them up in. */
import type { CompiledRules } from './cel.ts';
import type { KubeObject } from './object.ts';
import type { Schema } from './schema.ts';
import type { Cause } from './status.ts';

/** A column of `kubectl get`. `priority` above 0 shows with `-o wide` only. */
export interface Column {
  name: string;
  type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  format?: string;
  description?: string;
  priority: number;
  cell(object: KubeObject, now: number): string | number | boolean | null;
}

export interface Resource {
  group: string;
  version: string;
  plural: string;
  singular: string;
  kind: string;
  listKind: string;
  shortNames: readonly string[];
  categories: readonly string[];
  namespaced: boolean;
  /** Verbs of the main endpoint in discovery. */
  verbs: readonly string[];
  /** Whether /status is served and the main endpoint ignores the status. */
  hasStatus: boolean;
  /** Whether creating with a status keeps it (Node: a kubelet registers with one). */
  keepsStatusOnCreate: boolean;
  /** Key of the collection in the store; two resources share one when they are two views of the same objects. */
  collection: string;
  /** Fields beside metadata.name and metadata.namespace that a field selector may name. */
  selectableFields: readonly string[];
  columns: readonly Column[];
  /** Absent for built-in kinds: what they hold is taken as it comes. */
  schema?: Schema;
  rules?: CompiledRules;
  /** Only kinds compiled into the real server know strategic merge. */
  strategicMerge: boolean;
  /** Whether metadata.generation counts the changes of everything but metadata and status. */
  counted: boolean;
  /** A PUT without resourceVersion overwrites; custom resources refuse it. */
  unconditionalUpdate: boolean;
  /** Fills in what the real server would, in place. */
  prepare?(object: KubeObject, previous: KubeObject | undefined): void;
  check?(object: KubeObject, previous: KubeObject | undefined): Cause[];
  /** Between this resource's form and the stored one, where they differ. */
  toStored?(object: KubeObject): KubeObject;
  fromStored?(object: KubeObject): KubeObject;
}

export const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;

export function apiVersionOf(resource: { group: string; version: string }): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Splits `apps/v1` or `v1`. */
export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

export class Registry {
  readonly #resources = new Map<string, Resource>();

  /** Adds a resource, or replaces the one of the same group, version and plural. */
  add(resource: Resource): void {
    this.#resources.set(`${apiVersionOf(resource)}/${resource.plural}`, resource);
  }

  remove(resource: { group: string; version: string; plural: string }): void {
    this.#resources.delete(`${apiVersionOf(resource)}/${resource.plural}`);
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#resources.get(`${apiVersionOf({ group, version })}/${plural}`);
  }

  findKind(apiVersion: string, kind: string): Resource | undefined {
    return this.all().find((resource) => apiVersionOf(resource) === apiVersion && resource.kind === kind);
  }

  all(): Resource[] {
    return [...this.#resources.values()];
  }

  /** Groups with their versions, in order of registration; '' is the core group. */
  groups(): Map<string, string[]> {
    const groups = new Map<string, string[]>();
    for (const { group, version } of this.all()) {
      const versions = groups.get(group) ?? [];
      if (!versions.includes(version)) versions.push(version);
      groups.set(group, versions);
    }
    return groups;
  }
}
