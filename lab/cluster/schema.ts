/** Structural schemas of custom resources: defaulting, pruning, validation. */
import { celRules } from './cel.ts';
import { copy, isObject, type Json, type JsonObject } from './objects.ts';
import type { StatusCause } from './status-error.ts';

export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
}

export interface Schema {
  type?: string;
  format?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  required?: string[];
  enum?: Json[];
  default?: Json;
  nullable?: boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-validations'?: ValidationRule[];
}

/** Fields of every object that the schema of a kind need not name. */
const always = ['apiVersion', 'kind', 'metadata'];

/** The value with defaults filled in, outermost first as the API does it. */
export function withDefaults(value: Json, schema: Schema): Json {
  if (isObject(value)) {
    const result: JsonObject = { ...value };
    for (const [key, property] of Object.entries(schema.properties ?? {})) {
      if (result[key] === undefined && property.default !== undefined) result[key] = copy(property.default);
      const present = result[key];
      if (present !== undefined) result[key] = withDefaults(present, property);
    }
    if (typeof schema.additionalProperties === 'object') {
      for (const [key, each] of Object.entries(result)) {
        if (schema.properties?.[key] === undefined) result[key] = withDefaults(each, schema.additionalProperties);
      }
    }
    return result;
  }
  const { items } = schema;
  return Array.isArray(value) && items !== undefined ? value.map((each) => withDefaults(each, items)) : value;
}

/** The value without fields that the schema does not name; their paths are added to `unknown`. */
export function pruned(value: Json, schema: Schema, unknown: string[], path = ''): Json {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((each, index) => pruned(each, items, unknown, `${path}[${index}]`));
  }
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const [key, each] of Object.entries(value)) {
    const here = path === '' ? key : `${path}.${key}`;
    const property = schema.properties?.[key];
    if (path === '' && always.includes(key)) result[key] = each;
    else if (property !== undefined) result[key] = pruned(each, property, unknown, here);
    else if (typeof schema.additionalProperties === 'object')
      result[key] = pruned(each, schema.additionalProperties, unknown, here);
    else if (schema.additionalProperties === true) result[key] = each;
    else unknown.push(here);
  }
  return result;
}

/** Everything wrong with the value; the old one is for transition rules, absent on create. */
export function violations(value: Json, schema: Schema, old: Json | undefined, path = ''): StatusCause[] {
  const found: StatusCause[] = [];
  const wrong = (message: string, field = path, reason = 'FieldValueInvalid'): void => {
    found.push({ reason, message, field: field === '' ? '<nil>' : field });
  };
  const shown = JSON.stringify(value);
  if (value === null && schema.nullable === true) return found;
  if (!hasType(value, schema)) {
    wrong(
      `Invalid value: ${shown}: ${path} in body must be of type ${schema.type}: "${typeName(value)}"`,
      path,
      'FieldValueTypeInvalid',
    );
    return found;
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    wrong(
      `Unsupported value: ${shown}: supported values: ${schema.enum.map((each) => JSON.stringify(each)).join(', ')}`,
      path,
      'FieldValueNotSupported',
    );
  }
  if (typeof value === 'number') {
    if (schema.minimum !== undefined && value < schema.minimum)
      wrong(`Invalid value: ${shown}: ${path} in body should be greater than or equal to ${schema.minimum}`);
    if (schema.maximum !== undefined && value > schema.maximum)
      wrong(`Invalid value: ${shown}: ${path} in body should be less than or equal to ${schema.maximum}`);
  }
  if (typeof value === 'string') {
    const length = [...value].length;
    if (schema.minLength !== undefined && length < schema.minLength)
      wrong(`Invalid value: ${shown}: ${path} in body should be at least ${schema.minLength} chars long`);
    if (schema.maxLength !== undefined && length > schema.maxLength)
      wrong(`Too long: may not be more than ${schema.maxLength} bytes`, path, 'FieldValueTooLong');
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value))
      wrong(`Invalid value: ${shown}: ${path} in body should match '${schema.pattern}'`);
    if (schema.format === 'date-time' && Number.isNaN(Date.parse(value)))
      wrong(`Invalid value: ${shown}: ${path} in body must be of type date-time: ${shown}`);
  }
  if (Array.isArray(value)) found.push(...listViolations(value, schema, old, path));
  if (isObject(value)) found.push(...objectViolations(value, schema, old, path));
  // Rules see a value of the right shape or none: a rule on a broken one would only add noise.
  if (found.length === 0) {
    for (const { message, field, reason } of celRules(value, schema, old)) wrong(message, join(path, field), reason);
  }
  return found;
}

function join(path: string, below: string): string {
  return `${path}${below}`.replace(/^\./, '');
}

function listViolations(value: Json[], schema: Schema, old: Json | undefined, path: string): StatusCause[] {
  const found: StatusCause[] = [];
  const wrong = (reason: string, message: string, field = path): void => {
    found.push({ reason, message, field });
  };
  if (schema.minItems !== undefined && value.length < schema.minItems)
    wrong(
      'FieldValueInvalid',
      `Invalid value: ${value.length}: ${path} in body should have at least ${schema.minItems} items`,
    );
  if (schema.maxItems !== undefined && value.length > schema.maxItems)
    wrong('FieldValueTooMany', `Too many: ${value.length}: must have at most ${schema.maxItems} items`);
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const identity = (item: Json): string => JSON.stringify(isObject(item) ? keys.map((key) => item[key] ?? null) : item);
  if (schema['x-kubernetes-list-type'] === 'set' || schema['x-kubernetes-list-type'] === 'map') {
    const seen = new Set<string>();
    value.forEach((item, index) => {
      if (seen.has(identity(item)))
        wrong('FieldValueDuplicate', `Duplicate value: ${JSON.stringify(item)}`, `${path}[${index}]`);
      seen.add(identity(item));
    });
  }
  const { items } = schema;
  if (items === undefined) return found;
  const olds = Array.isArray(old) ? old : [];
  value.forEach((item, index) => {
    // Only items of a map list can be told apart from one version to the next.
    const before = keys.length > 0 ? olds.find((each) => identity(each) === identity(item)) : undefined;
    found.push(...violations(item, items, before, `${path}[${index}]`));
  });
  return found;
}

function objectViolations(value: JsonObject, schema: Schema, old: Json | undefined, path: string): StatusCause[] {
  const found: StatusCause[] = [];
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`);
  for (const key of schema.required ?? []) {
    if (value[key] === undefined)
      found.push({ reason: 'FieldValueRequired', message: 'Required value', field: below(key) });
  }
  const count = Object.keys(value).length;
  if (schema.minProperties !== undefined && count < schema.minProperties) {
    found.push({
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${count}: ${path} in body should have at least ${schema.minProperties} properties`,
      field: path,
    });
  }
  if (schema.maxProperties !== undefined && count > schema.maxProperties) {
    found.push({
      reason: 'FieldValueTooMany',
      message: `Too many: ${count}: must have at most ${schema.maxProperties} items`,
      field: path,
    });
  }
  for (const [key, each] of Object.entries(value)) {
    if (path === '' && always.includes(key)) continue;
    const property =
      schema.properties?.[key] ??
      (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined);
    if (property !== undefined)
      found.push(...violations(each, property, isObject(old) ? old[key] : undefined, below(key)));
  }
  return found;
}

function hasType(value: Json, schema: Schema): boolean {
  if (schema['x-kubernetes-int-or-string'] === true) return typeof value === 'string' || Number.isInteger(value);
  switch (schema.type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case undefined:
      return true;
    default:
      return typeof value === schema.type;
  }
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
