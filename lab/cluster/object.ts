/** Kubernetes objects as the API server handles them: plain JSON with the few metadata fields that carry meaning here. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [field: string]: Json | undefined;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

/** An object with its type and metadata; every other field is for the caller to narrow. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Structural equality of JSON values; a field that is undefined counts as absent. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => deepEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (!deepEqual(a[key], b[key])) return false;
  }
  return true;
}

/** Copies a JSON value so that a stored object is never shared with what a request edits. */
export function copy<Value>(value: Value): Value {
  return structuredClone(value);
}

/** RFC 3339 in whole seconds, as metav1.Time writes it. */
export function timestamp(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}

/** Reads a field by its path; undefined where any step is missing. */
export function fieldAt(value: unknown, ...path: string[]): unknown {
  let current = value;
  for (const step of path) {
    if (!isObject(current)) return undefined;
    current = current[step];
  }
  return current;
}

export function textAt(value: unknown, ...path: string[]): string {
  const found = fieldAt(value, ...path);
  return typeof found === 'string' ? found : typeof found === 'number' ? String(found) : '';
}

export function listAt(value: unknown, ...path: string[]): unknown[] {
  const found = fieldAt(value, ...path);
  return Array.isArray(found) ? found : [];
}
