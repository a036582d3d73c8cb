/** Structural schemas (openAPIV3Schema of a CRD): pruning of unknown fields and defaulting. Validation is in validation.ts. */
import { copy, isObject, type Json } from './object.ts';

export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  fieldPath?: string;
  reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  optionalOldSelf?: boolean;
}

export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  description?: string;
  format?: string;
  nullable?: boolean;
  default?: Json;
  enum?: Json[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: 'granular' | 'atomic';
  'x-kubernetes-validations'?: ValidationRule[];
}

const typeFields = ['apiVersion', 'kind', 'metadata'];

/**
 * Removes, in place, what the schema does not know, and returns the paths removed (`spec.foo`, `spec.list[0].bar`).
 * apiVersion, kind and metadata of the root are known without being declared.
 */
export function prune(value: unknown, schema: Schema, root = true): string[] {
  const unknown: string[] = [];
  pruneAt(value, schema, '', root, unknown);
  return unknown;
}

function pruneAt(value: unknown, schema: Schema, path: string, root: boolean, unknown: string[]): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    value.forEach((item, index) => {
      pruneAt(item, items, `${path}[${index}]`, false, unknown);
    });
    return;
  }
  if (!isObject(value)) return;
  const isResource = root || schema['x-kubernetes-embedded-resource'] === true;
  for (const key of Object.keys(value)) {
    const field = path === '' ? key : `${path}.${key}`;
    const child = schema.properties?.[key];
    if (isResource && typeFields.includes(key)) continue;
    if (child !== undefined) pruneAt(value[key], child, field, false, unknown);
    else if (isObject(schema.additionalProperties)) {
      pruneAt(value[key], schema.additionalProperties as Schema, field, false, unknown);
    } else if (schema.additionalProperties === true || schema['x-kubernetes-preserve-unknown-fields'] === true) {
      // Whatever it is, it stays as it came.
    } else {
      delete value[key];
      unknown.push(field);
    }
  }
}

/**
 * Fills in defaults, in place. A null where the schema is not nullable and has a default counts as absent; nested
 * defaults only apply inside objects that are there, as in the real server.
 */
export function applyDefaults(value: unknown, schema: Schema): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined) for (const item of value) applyDefaults(item, items);
    return;
  }
  if (!isObject(value)) return;
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    if (value[key] === null && child.nullable !== true) {
      if (child.default !== undefined) delete value[key];
    }
    if (value[key] === undefined && child.default !== undefined) value[key] = copy(child.default);
    if (value[key] !== undefined) applyDefaults(value[key], child);
  }
  if (isObject(schema.additionalProperties)) {
    for (const [key, item] of Object.entries(value)) {
      if (schema.properties?.[key] === undefined) applyDefaults(item, schema.additionalProperties as Schema);
    }
  }
}
