/** Deletion: finalizers, dependents of a deleted owner, the contents of a namespace, the objects of a CRD. */
import { type KubeObject, timestamp } from './object.ts';
import type { Registry, Resource } from './resource.ts';
import { conflict, notFound } from './status.ts';
import type { Store } from './store.ts';

/** Collection of the CRDs; the name of one is the name of its objects' collection. */
const definitions = 'customresourcedefinitions.apiextensions.k8s.io';

export interface Deletion {
  store: Store;
  registry: Registry;
}

/** metav1.DeleteOptions, as far as it matters here. A grace period is not waited for: no kubelet would end it. */
export interface DeleteOptions {
  preconditions?: { uid?: string; resourceVersion?: string };
  propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  dryRun?: boolean;
}

/** What a deletion left: the object with its deletionTimestamp while finalizers hold it, or its last state. */
export interface Deleted {
  object: KubeObject;
  gone: boolean;
}

/** Deletes one object. Throws 404, or 409 where a precondition does not hold. */
export function remove(
  deletion: Deletion,
  resource: Resource,
  namespace: string | undefined,
  name: string,
  options: DeleteOptions,
): Deleted {
  const { store } = deletion;
  const object = store.get(resource.collection, namespace, name);
  if (object === undefined) throw notFound(resource, name);
  const { uid, resourceVersion } = options.preconditions ?? {};
  if (uid !== undefined && uid !== object.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${object.metadata.uid}`;
    throw conflict(resource, name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
    const why = `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${object.metadata.resourceVersion}`;
    throw conflict(resource, name, why);
  }
  if (options.dryRun === true) return { object, gone: true };
  if (options.propagationPolicy === 'Orphan') orphanDependents(deletion, object);
  return removeObject(deletion, resource.collection, object);
}

/** Whether something must end before the object itself may go. */
function isHeld(deletion: Deletion, collection: string, object: KubeObject): boolean {
  if ((object.metadata.finalizers?.length ?? 0) > 0) return true;
  return contents(deletion, collection, object).length > 0;
}

/** What lives inside a namespace, or is an instance of a CRD. */
function contents(deletion: Deletion, collection: string, object: KubeObject): [string, KubeObject][] {
  const { store } = deletion;
  const { name } = object.metadata;
  if (collection === 'namespaces') {
    return store
      .collections()
      .flatMap((other) => store.list(other, name).map((item): [string, KubeObject] => [other, item]));
  }
  if (collection === definitions) {
    return store.list(name).map((item): [string, KubeObject] => [name, item]);
  }
  return [];
}

function removeObject(deletion: Deletion, collection: string, object: KubeObject): Deleted {
  const { store } = deletion;
  if (!isHeld(deletion, collection, object)) {
    const last = store.remove(collection, object);
    removeDependents(deletion, last);
    releaseContainers(deletion, collection, last);
    return { object: last, gone: true };
  }
  if (object.metadata.deletionTimestamp !== undefined) return { object, gone: false };
  const marked: KubeObject = {
    ...object,
    metadata: { ...object.metadata, deletionTimestamp: timestamp(new Date()), deletionGracePeriodSeconds: 0 },
    ...(collection === 'namespaces' ? { status: { ...(object.status as object), phase: 'Terminating' } } : {}),
  };
  const terminating = store.put(collection, marked);
  for (const [other, item] of contents(deletion, collection, object)) removeObject(deletion, other, item);
  const { namespace, name } = object.metadata;
  const left = store.get(collection, namespace, name);
  // Its contents may all have gone at once, and itself with the last of them.
  return left === undefined ? { object: terminating, gone: true } : { object: left, gone: false };
}

/** A namespace, or a CRD, that waits for its contents goes with the last of them. */
function releaseContainers(deletion: Deletion, collection: string, gone: KubeObject): void {
  const { store } = deletion;
  const { namespace } = gone.metadata;
  const waiting: [string, KubeObject | undefined][] = [
    [definitions, store.get(definitions, undefined, collection)],
    ['namespaces', namespace === undefined ? undefined : store.get('namespaces', undefined, namespace)],
  ];
  for (const [container, object] of waiting) {
    if (object?.metadata.deletionTimestamp === undefined || isHeld(deletion, container, object)) continue;
    removeObject(deletion, container, object);
  }
}

/** After an update: an object that is being deleted goes when its last finalizer has gone. */
export function finishDeletion(deletion: Deletion, resource: Resource, object: KubeObject): void {
  if (object.metadata.deletionTimestamp === undefined) return;
  if (!isHeld(deletion, resource.collection, object)) removeObject(deletion, resource.collection, object);
}

function dependents(deletion: Deletion, owner: KubeObject): [string, KubeObject][] {
  const { store } = deletion;
  return store
    .collections()
    .flatMap((collection) => store.list(collection).map((item): [string, KubeObject] => [collection, item]))
    .filter(([, item]) => item.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid));
}

function withoutOwner(object: KubeObject, owner: KubeObject): KubeObject {
  const { ownerReferences, ...metadata } = object.metadata;
  const rest = (ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
  return { ...object, metadata: rest.length === 0 ? metadata : { ...metadata, ownerReferences: rest } };
}

function orphanDependents(deletion: Deletion, owner: KubeObject): void {
  for (const [collection, item] of dependents(deletion, owner)) {
    deletion.store.put(collection, withoutOwner(item, owner));
  }
}

/** The garbage collector's part: what no owner holds any more goes too. */
function removeDependents(deletion: Deletion, owner: KubeObject): void {
  for (const [collection, item] of dependents(deletion, owner)) {
    const left = withoutOwner(item, owner);
    if (left.metadata.ownerReferences === undefined) removeObject(deletion, collection, item);
    else deletion.store.put(collection, left);
  }
}
