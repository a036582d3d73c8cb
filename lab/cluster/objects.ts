/** Kubernetes objects as the server handles them: JSON with the few fields it must know. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Metadata extends JsonObject {
  name: string;
}

export interface KubernetesObject extends JsonObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of keys, or undefined. */
export function at(value: Json | undefined, ...path: string[]): Json | undefined {
  return path.reduce<Json | undefined>((current, key) => (isObject(current) ? current[key] : undefined), value);
}

export function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);
}

export function copy<Value extends Json>(value: Value): Value {
  return structuredClone(value);
}
