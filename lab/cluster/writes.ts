/** Create, update and patch: what the real server does between a decoded object and the store. Deletion is in deletion.ts. */
import { randomUUID } from 'node:crypto';
import { checkRules } from './cel.ts';
import { checkName, decode, UnknownFields, type WriteOptions } from './decoding.ts';
import { type Deletion, finishDeletion } from './deletion.ts';
import { copy, deepEqual, type KubeObject, timestamp } from './object.ts';
import type { Resource } from './resource.ts';
import {
  ApiError,
  alreadyExists,
  badRequest,
  type Cause,
  conflict,
  invalid,
  modifiedMeanwhile,
  notFound,
} from './status.ts';
import { validate } from './validation.ts';

export type Subresource = '' | 'status';
export type UpdateMethod = 'PUT' | 'PATCH';

const namespaces = { group: '', plural: 'namespaces', kind: 'Namespace' };

/** The object as this resource shows it. */
export function shown(resource: Resource, stored: KubeObject): KubeObject {
  return resource.fromStored === undefined ? stored : resource.fromStored(stored);
}

function toStored(resource: Resource, object: KubeObject): KubeObject {
  return resource.toStored === undefined ? object : resource.toStored(object);
}

/** metadata.generateName with five characters that never form a word. */
function generatedName(prefix: string): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  const suffix = Array.from({ length: 5 }, () => letters[Math.floor(Math.random() * letters.length)]).join('');
  return `${prefix.slice(0, 58)}${suffix}`;
}

function checkAll(resource: Resource, object: KubeObject, previous: KubeObject | undefined): void {
  const causes: Cause[] = [...checkName(resource, object.metadata.name)];
  if (resource.schema !== undefined) causes.push(...validate(object, resource.schema));
  // Rules run on values of the right types only.
  if (causes.length === 0 && resource.rules !== undefined) {
    causes.push(...checkRules(resource.rules, object, previous));
  }
  if (causes.length === 0) causes.push(...(resource.check?.(object, previous) ?? []));
  if (causes.length > 0) throw invalid(resource, object.metadata.name, causes);
}

function decodeOrRefuse(
  resource: Resource,
  body: unknown,
  method: 'POST' | UpdateMethod,
  options: WriteOptions,
): KubeObject {
  const text = method === 'PATCH' ? JSON.stringify(body) : '';
  try {
    return decode(resource, body, options);
  } catch (error) {
    if (!(error instanceof UnknownFields)) throw error;
    const { kind, version } = resource;
    if (method === 'PATCH') {
      const message = `Invalid value: ${JSON.stringify(text)}: ${error.message}`;
      throw invalid({ group: '', plural: '', kind: '' }, '', [
        { reason: 'FieldValueInvalid', field: 'patch', message },
      ]);
    }
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${error.message}`);
  }
}

function requireNamespace(deletion: Deletion, resource: Resource, namespace: string, name: string): void {
  const found = deletion.store.get('namespaces', undefined, namespace);
  if (found === undefined) throw notFound(namespaces, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  const message = `${resource.plural} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`;
  throw new ApiError(403, 'Forbidden', message, { name, kind: resource.plural });
}

/** Stores a new object. Throws 400, 404 (namespace), 409 or 422. */
export function create(
  deletion: Deletion,
  resource: Resource,
  namespace: string | undefined,
  body: unknown,
  options: WriteOptions,
): KubeObject {
  const object = decodeOrRefuse(resource, body, 'POST', options);
  const { metadata } = object;
  if (resource.namespaced) {
    metadata.namespace ??= namespace;
    if (metadata.namespace !== namespace) {
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    }
  } else delete metadata.namespace;
  if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== '') {
    throw new ApiError(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
  }
  if (!metadata.name && metadata.generateName) metadata.name = generatedName(metadata.generateName);
  metadata.name ??= '';
  if (resource.hasStatus && !resource.keepsStatusOnCreate) delete object.status;
  metadata.uid = randomUUID();
  metadata.creationTimestamp = timestamp(new Date());
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.generation;
  if (resource.counted) metadata.generation = 1;
  resource.prepare?.(object, undefined);
  if (resource.namespaced && namespace !== undefined) requireNamespace(deletion, resource, namespace, metadata.name);
  checkAll(resource, object, undefined);
  if (deletion.store.get(resource.collection, metadata.namespace, metadata.name) !== undefined) {
    throw alreadyExists(resource, metadata.name);
  }
  if (options.dryRun) return object;
  return shown(resource, deletion.store.put(resource.collection, toStored(resource, object)));
}

/** Everything that metadata.generation counts. */
function countedPart(resource: Resource, object: KubeObject): Record<string, unknown> {
  const { metadata: _, status, ...rest } = object;
  return resource.hasStatus ? rest : { ...rest, status };
}

/** The object after the change, before it is checked: each endpoint takes only its own part of what was sent. */
function combine(resource: Resource, sent: KubeObject, current: KubeObject, subresource: Subresource): KubeObject {
  const kept = current.metadata;
  if (subresource === 'status') {
    const { status: _, ...rest } = copy(current);
    return sent.status === undefined ? rest : { ...rest, status: sent.status };
  }
  const metadata = {
    ...sent.metadata,
    name: kept.name,
    ...(kept.namespace === undefined ? {} : { namespace: kept.namespace }),
  };
  for (const field of ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation']) {
    const value = kept[field as keyof typeof kept];
    if (value === undefined) delete metadata[field as keyof typeof metadata];
    else Object.assign(metadata, { [field]: value });
  }
  const next: KubeObject = { ...sent, metadata };
  if (resource.hasStatus) {
    delete next.status;
    if (current.status !== undefined) next.status = copy(current.status);
  }
  return next;
}

function checkFinalizers(resource: Resource, current: KubeObject, next: KubeObject): void {
  if (current.metadata.deletionTimestamp === undefined) return;
  const added = (next.metadata.finalizers ?? []).filter((item) => !current.metadata.finalizers?.includes(item));
  if (added.length === 0) return;
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`;
  throw invalid(resource, current.metadata.name, [
    { reason: 'FieldValueForbidden', field: 'metadata.finalizers', message },
  ]);
}

/**
 * Changes an object: `produce` gives, from a copy of what is there, what the client wants (the body of a PUT, or the
 * patched object). Throws 400, 404, 409 or 422. An update that changes nothing makes no new version.
 */
export function update(
  deletion: Deletion,
  resource: Resource,
  namespace: string | undefined,
  name: string,
  subresource: Subresource,
  method: UpdateMethod,
  produce: (current: KubeObject) => unknown,
  options: WriteOptions,
): KubeObject {
  const stored = deletion.store.get(resource.collection, namespace, name);
  if (stored === undefined) throw notFound(resource, name);
  const current = shown(resource, stored);
  const sent = decodeOrRefuse(resource, produce(copy(current)), method, options);
  const { resourceVersion, uid } = sent.metadata;
  if (sent.metadata.name !== undefined && sent.metadata.name !== name) {
    throw badRequest(`the name of the object (${sent.metadata.name}) does not match the name on the URL (${name})`);
  }
  if (sent.metadata.namespace !== undefined && sent.metadata.namespace !== (namespace ?? '')) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (uid !== undefined && uid !== '' && uid !== current.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`;
    throw conflict(resource, name, why);
  }
  if (resourceVersion === undefined || resourceVersion === '') {
    if (!resource.unconditionalUpdate) {
      const message = 'Invalid value: 0x0: must be specified for an update';
      throw invalid(resource, name, [{ reason: 'FieldValueInvalid', field: 'metadata.resourceVersion', message }]);
    }
  } else if (resourceVersion !== current.metadata.resourceVersion) throw conflict(resource, name, modifiedMeanwhile);

  const next = combine(resource, sent, current, subresource);
  resource.prepare?.(next, current);
  if (resource.counted && !deepEqual(countedPart(resource, next), countedPart(resource, current))) {
    next.metadata.generation = (current.metadata.generation ?? 0) + 1;
  }
  checkFinalizers(resource, current, next);
  checkAll(resource, next, current);
  next.metadata.resourceVersion = current.metadata.resourceVersion ?? '';
  if (deepEqual(next, current) || options.dryRun) return next;
  const written = deletion.store.put(resource.collection, toStored(resource, next));
  finishDeletion(deletion, resource, written);
  return shown(resource, written);
}
