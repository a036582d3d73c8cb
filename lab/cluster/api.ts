/** The verbs of the API on objects, without HTTP: admission, validation, storage, cascades. */
import { randomBytes } from 'node:crypto';
import { establish, withdraw } from './custom-resources.ts';
import { copy, isObject, type Json, type JsonObject, type KubernetesObject, type Metadata } from './objects.ts';
import { jsonPatch, mergePatch, strategicMergePatch } from './patch.ts';
import { groupVersion, qualified, Registry, type Resource } from './resources.ts';
import { pruned, violations, withDefaults } from './schema.ts';
import { StatusError } from './status-error.ts';
import { hasFinalizers, isDeleting, Store } from './store.ts';

export type PatchType = 'merge' | 'strategic' | 'json' | 'apply';

export interface Target {
  resource: Resource;
  namespace: string;
  name: string;
  subresource: '' | 'status';
}

export interface WriteOptions {
  /** What to do with fields the schema does not know. */
  fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  dryRun: boolean;
}

export interface WriteResult {
  object: KubernetesObject;
  warnings: string[];
}

export class Api {
  readonly registry = new Registry();
  readonly store = new Store();

  get({ resource, namespace, name }: Target): KubernetesObject {
    const found = this.store.get(this.registry.storageKey(resource), namespace, name);
    if (found === undefined)
      throw new StatusError('NotFound', `${qualified(resource)} "${name}" not found`, this.#details(resource, name));
    return { ...found, apiVersion: groupVersion(resource), kind: resource.kind };
  }

  create(resource: Resource, namespace: string, body: Json, options: WriteOptions): WriteResult {
    const object = this.#shaped(resource, namespace, body);
    const { metadata } = object;
    if (metadata.name === undefined && typeof metadata.generateName === 'string') {
      metadata.name = `${metadata.generateName}${randomBytes(3).toString('hex').slice(0, 5)}`;
    }
    if (typeof metadata.name !== 'string' || metadata.name === '') {
      throw new StatusError(
        'Invalid',
        `${resource.kind}: metadata.name: Required value: name or generateName is required`,
      );
    }
    if (resource.namespaced && this.store.get('namespaces', '', namespace) === undefined) {
      throw new StatusError('NotFound', `namespaces "${namespace}" not found`, { name: namespace, kind: 'namespaces' });
    }
    if (resource.statusSubresource && resource.schema !== undefined) delete object.status;
    const { object: checked, warnings } = this.#checked(resource, object, undefined, options);
    if (resource.plural === 'customresourcedefinitions') establish(this.registry, checked);
    const key = this.registry.storageKey(resource);
    if (this.store.get(key, namespace, metadata.name) !== undefined) {
      throw new StatusError(
        'AlreadyExists',
        `${qualified(resource)} "${metadata.name}" already exists`,
        this.#details(resource, metadata.name),
      );
    }
    return { object: options.dryRun ? checked : this.store.create(key, checked), warnings };
  }

  update(target: Target, body: Json, options: WriteOptions): WriteResult {
    const { resource, namespace, name, subresource } = target;
    const current = this.get(target);
    const wanted = this.#shaped(resource, namespace, body);
    if (wanted.metadata.name !== name) {
      throw new StatusError(
        'BadRequest',
        `the name of the object (${wanted.metadata.name}) does not match the name on the URL (${name})`,
      );
    }
    const version = wanted.metadata.resourceVersion;
    if (version !== undefined && version !== '' && version !== current.metadata.resourceVersion) {
      throw new StatusError(
        'Conflict',
        `Operation cannot be fulfilled on ${qualified(resource)} "${name}": the object has been modified; please apply your changes to the latest version and try again`,
        this.#details(resource, name),
      );
    }
    const merged = this.#limited(resource, current, wanted, subresource);
    const { object, warnings } = this.#checked(resource, merged, current, options);
    if (options.dryRun) return { object, warnings };
    const key = this.registry.storageKey(resource);
    if (resource.plural === 'customresourcedefinitions' && subresource === '') establish(this.registry, object);
    const stored = this.store.replace(key, object);
    // The last finalizer is gone: now the deletion that was asked for takes place.
    if (isDeleting(stored) && !hasFinalizers(stored)) this.store.remove(key, namespace, name);
    return { object: { ...stored, apiVersion: groupVersion(resource), kind: resource.kind }, warnings };
  }

  patch(target: Target, type: PatchType, patch: Json, options: WriteOptions): WriteResult {
    const { resource, namespace, name } = target;
    if (type === 'strategic' && resource.schema !== undefined) {
      throw new StatusError(
        'UnsupportedMediaType',
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
      );
    }
    const exists = this.store.get(this.registry.storageKey(resource), namespace, name) !== undefined;
    if (type === 'apply' && !exists) return this.create(resource, namespace, patch, options);
    const current: Json = copy(this.get(target));
    // Server-side apply without field ownership: what the manifest names is set, nothing is ever taken away.
    const patched =
      type === 'json'
        ? jsonPatch(current, patch)
        : type === 'strategic'
          ? strategicMergePatch(current, patch)
          : mergePatch(current, patch);
    if (
      isObject(patched) &&
      isObject(patched.metadata) &&
      !(isObject(patch) && isObject(patch.metadata) && 'resourceVersion' in patch.metadata)
    ) {
      delete patched.metadata.resourceVersion;
    }
    return this.update(target, patched, options);
  }

  delete(target: Target): KubernetesObject {
    const { resource, namespace, name } = target;
    const current = this.get(target);
    const key = this.registry.storageKey(resource);
    if (hasFinalizers(current)) {
      if (isDeleting(current)) return current;
      const marked = copy(current);
      marked.metadata.deletionTimestamp = new Date().toISOString().replace(/\.\d+Z/, 'Z');
      return this.store.replace(key, marked);
    }
    if (resource.plural === 'customresourcedefinitions') {
      for (const each of this.registry.all().filter((one) => current.metadata.name === qualified(one)))
        this.#deleteAll(each, '');
      withdraw(this.registry, current);
    }
    if (resource.plural === 'namespaces')
      for (const each of this.registry.all()) if (each.namespaced) this.#deleteAll(each, name);
    const removed = this.store.remove(key, namespace, name);
    this.#deleteDependents(removed);
    return removed;
  }

  #deleteAll(resource: Resource, namespace: string): void {
    for (const object of this.store.list(this.registry.storageKey(resource), namespace)) {
      this.delete({
        resource,
        namespace: String(object.metadata.namespace ?? ''),
        name: object.metadata.name,
        subresource: '',
      });
    }
  }

  /** What the garbage collector does with objects whose owner is gone. */
  #deleteDependents(owner: KubernetesObject): void {
    for (const resource of this.registry.all()) {
      for (const object of this.store.list(this.registry.storageKey(resource), '')) {
        const owners = object.metadata.ownerReferences;
        if (!Array.isArray(owners) || !owners.some((each) => isObject(each) && each.uid === owner.metadata.uid))
          continue;
        this.delete({
          resource,
          namespace: String(object.metadata.namespace ?? ''),
          name: object.metadata.name,
          subresource: '',
        });
      }
    }
  }

  #details({ group, plural }: Resource, name: string): { name: string; group: string; kind: string } {
    return { name, group, kind: plural };
  }

  /** An object of this kind, or a refusal that says what it is instead. */
  #shaped(resource: Resource, namespace: string, body: Json): KubernetesObject {
    if (!isObject(body)) throw new StatusError('BadRequest', 'the body is not an object');
    const apiVersion = groupVersion(resource);
    if (body.kind !== undefined && body.kind !== resource.kind) {
      throw new StatusError('BadRequest', `the object is a ${String(body.kind)}, this path takes ${resource.kind}`);
    }
    if (body.apiVersion !== undefined && body.apiVersion !== apiVersion) {
      throw new StatusError('BadRequest', `the object is of ${String(body.apiVersion)}, this path takes ${apiVersion}`);
    }
    const metadata = copy(isObject(body.metadata) ? body.metadata : {}) as Metadata;
    if (resource.namespaced) {
      if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
        throw new StatusError(
          'BadRequest',
          `the namespace of the object (${String(metadata.namespace)}) does not match the namespace on the URL (${namespace})`,
        );
      }
      metadata.namespace = namespace;
    } else delete metadata.namespace;
    delete metadata.managedFields;
    return { ...copy(body), apiVersion, kind: resource.kind, metadata };
  }

  /** Only the part that this endpoint may change: status through its subresource, everything else without it. */
  #limited(
    resource: Resource,
    current: KubernetesObject,
    wanted: KubernetesObject,
    subresource: string,
  ): KubernetesObject {
    if (!resource.statusSubresource) return wanted;
    const part = (object: KubernetesObject): JsonObject =>
      object.status === undefined ? {} : { status: object.status };
    if (subresource === 'status') return { ...current, ...part(wanted) };
    // The lab's own controllers write a built-in object whole; custom resources are as strict as on a real server.
    if (resource.schema === undefined) return wanted;
    const { status: _, ...rest } = wanted;
    return { ...(rest as KubernetesObject), ...part(current) };
  }

  #checked(
    resource: Resource,
    object: KubernetesObject,
    old: KubernetesObject | undefined,
    { fieldValidation }: WriteOptions,
  ): WriteResult {
    const { schema } = resource;
    if (schema === undefined) return { object, warnings: [] };
    const unknown: string[] = [];
    const shaped = withDefaults(pruned(object, schema, unknown), schema) as KubernetesObject;
    if (unknown.length > 0 && fieldValidation === 'Strict') {
      const list = unknown.map((field) => `unknown field "${field}"`).join(', ');
      throw new StatusError(
        'BadRequest',
        `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: strict decoding error: ${list}`,
      );
    }
    const causes = violations(shaped, schema, old);
    if (causes.length > 0) {
      const list = causes.map((cause) => `${cause.field}: ${cause.message}`);
      const { name } = object.metadata;
      throw new StatusError(
        'Invalid',
        `${resource.kind}.${resource.group} "${name}" is invalid: ${list.length === 1 ? list[0] : `[${list.join(', ')}]`}`,
        { name, group: resource.group, kind: resource.kind, causes },
      );
    }
    const warnings = fieldValidation === 'Warn' ? unknown.map((field) => `unknown field "${field}"`) : [];
    return { object: shaped, warnings };
  }
}
