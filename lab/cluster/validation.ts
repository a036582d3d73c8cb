/** Validation of a value against a structural schema, with the wording of the real server. CEL rules are in cel.ts. */
import { deepEqual, isObject } from './object.ts';
import type { Schema } from './schema.ts';
import type { Cause } from './status.ts';

const patterns = new Map<string, RegExp>();

function pattern(source: string): RegExp {
  let compiled = patterns.get(source);
  if (compiled === undefined) {
    compiled = new RegExp(source, 'u');
    patterns.set(source, compiled);
  }
  return compiled;
}

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

/** Formats that are checked; any other is taken as a comment, as the real server does. */
const formats: Record<string, (text: string) => boolean> = {
  'date-time': (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text),
  duration: (text) => /^-?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d|w))+$|^0$/.test(text),
  ipv4: (text) => ipv4.test(text),
  uuid: (text) => /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(text),
  byte: (text) => /^[A-Za-z0-9+/]*={0,2}$/.test(text),
};

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function hasType(value: unknown, schema: Schema): boolean {
  if (schema['x-kubernetes-int-or-string'] === true) return typeof value === 'string' || Number.isInteger(value);
  switch (schema.type) {
    case undefined:
      return true;
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      // The other schema types bear JavaScript's own names.
      return typeof value === schema.type;
  }
}

/** The value as field errors quote it: objects and lists only by their type's name. */
function quoted(value: unknown): string {
  if (isObject(value)) return JSON.stringify(value);
  return JSON.stringify(value) ?? 'null';
}

/**
 * All violations of `schema` in `value`. `path` is the field's own path, empty for the whole object. With nothing to
 * complain about the list is empty.
 */
export function validate(value: unknown, schema: Schema, path = ''): Cause[] {
  const causes: Cause[] = [];
  const where = path === '' ? '<nil>' : path;
  const wrong = (rule: string): void => {
    const message = `Invalid value: ${quoted(value)}: ${path === '' ? '' : `${path} `}in body ${rule}`;
    causes.push({ reason: 'FieldValueInvalid', field: where, message });
  };
  if (value === null && schema.nullable === true) return causes;
  if (!hasType(value, schema)) {
    const wanted = schema['x-kubernetes-int-or-string'] === true ? 'integer,string' : (schema.type ?? '');
    const message = `Invalid value: ${JSON.stringify(typeName(value))}: ${path} in body must be of type ${wanted}: ${JSON.stringify(typeName(value))}`;
    return [{ reason: 'FieldValueTypeInvalid', field: where, message }];
  }
  if (schema.enum !== undefined && !schema.enum.some((allowed) => deepEqual(allowed, value))) {
    const allowed = schema.enum.map((item) => JSON.stringify(item)).join(', ');
    const message = `Unsupported value: ${quoted(value)}: supported values: ${allowed}`;
    causes.push({ reason: 'FieldValueNotSupported', field: where, message });
  }
  if (typeof value === 'string') validateString(value, schema, where, causes, wrong);
  if (typeof value === 'number') validateNumber(value, schema, wrong);
  if (Array.isArray(value)) validateList(value, schema, path, causes, wrong);
  if (isObject(value)) validateObject(value, schema, path, causes, wrong);
  validateCombinations(value, schema, path, causes, wrong);
  return causes;
}

function validateString(
  value: string,
  schema: Schema,
  path: string,
  causes: Cause[],
  wrong: (rule: string) => void,
): void {
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    const message = `Too long: may not be more than ${schema.maxLength} bytes`;
    causes.push({ reason: 'FieldValueTooLong', field: path, message });
  }
  if (schema.minLength !== undefined && length < schema.minLength) {
    wrong(`should be at least ${schema.minLength} chars long`);
  }
  if (schema.pattern !== undefined && !pattern(schema.pattern).test(value)) wrong(`should match '${schema.pattern}'`);
  const format = schema.format === undefined ? undefined : formats[schema.format];
  if (format !== undefined && !format(value)) wrong(`must be of type ${schema.format}: ${JSON.stringify(value)}`);
}

function validateNumber(value: number, schema: Schema, wrong: (rule: string) => void): void {
  const { minimum, maximum } = schema;
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum === true && value <= minimum) wrong(`should be greater than ${minimum}`);
    else if (value < minimum) wrong(`should be greater than or equal to ${minimum}`);
  }
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum === true && value >= maximum) wrong(`should be less than ${maximum}`);
    else if (value > maximum) wrong(`should be less than or equal to ${maximum}`);
  }
  if (schema.multipleOf !== undefined && value % schema.multipleOf !== 0) {
    wrong(`should be a multiple of ${schema.multipleOf}`);
  }
  if (schema.format === 'int32' && Math.abs(value) > 2 ** 31 && value !== -(2 ** 31)) {
    wrong('must be of type int32');
  }
}

function validateList(
  value: unknown[],
  schema: Schema,
  path: string,
  causes: Cause[],
  wrong: (rule: string) => void,
): void {
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    const message = `Too many: ${value.length}: must have at most ${schema.maxItems} items`;
    causes.push({ reason: 'FieldValueTooMany', field: path, message });
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    wrong(`should have at least ${schema.minItems} items`);
  }
  const { items } = schema;
  if (items !== undefined) {
    value.forEach((item, index) => {
      causes.push(...validate(item, items, `${path}[${index}]`));
    });
  }
  const listType = schema['x-kubernetes-list-type'];
  if (listType !== 'map' && listType !== 'set') return;
  const seen = new Set<string>();
  value.forEach((item, index) => {
    const key = listType === 'set' ? item : mapKey(item, schema);
    const text = JSON.stringify(key);
    if (seen.has(text)) {
      const message = `Duplicate value: ${text}`;
      causes.push({ reason: 'FieldValueDuplicate', field: `${path}[${index}]`, message });
    }
    seen.add(text);
  });
}

/** What identifies an item of a list of type map. */
export function mapKey(item: unknown, schema: Schema): Record<string, unknown> {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  return Object.fromEntries(keys.map((key) => [key, isObject(item) ? (item[key] ?? null) : null]));
}

function validateObject(
  value: Record<string, unknown>,
  schema: Schema,
  path: string,
  causes: Cause[],
  wrong: (rule: string) => void,
): void {
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`);
  for (const key of schema.required ?? []) {
    if (value[key] === undefined) {
      causes.push({ reason: 'FieldValueRequired', field: below(key), message: 'Required value' });
    }
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  if (schema.maxProperties !== undefined && entries.length > schema.maxProperties) {
    const message = `Too many: ${entries.length}: must have at most ${schema.maxProperties} items`;
    causes.push({ reason: 'FieldValueTooMany', field: path, message });
  }
  if (schema.minProperties !== undefined && entries.length < schema.minProperties) {
    wrong(`should have at least ${schema.minProperties} properties`);
  }
  for (const [key, item] of entries) {
    const child = schema.properties?.[key];
    if (child !== undefined) causes.push(...validate(item, child, below(key)));
    else if (isObject(schema.additionalProperties)) {
      causes.push(...validate(item, schema.additionalProperties as Schema, below(key)));
    }
  }
}

function validateCombinations(
  value: unknown,
  schema: Schema,
  path: string,
  causes: Cause[],
  wrong: (rule: string) => void,
): void {
  const fits = (branch: Schema): boolean => validate(value, branch, path).length === 0;
  for (const branch of schema.allOf ?? []) causes.push(...validate(value, branch, path));
  if (schema.anyOf !== undefined && !schema.anyOf.some(fits)) wrong('must validate at least one schema (anyOf)');
  if (schema.oneOf !== undefined && schema.oneOf.filter(fits).length !== 1) {
    wrong('must validate one and only one schema (oneOf)');
  }
  if (schema.not !== undefined && fits(schema.not)) wrong('must not validate the schema (not)');
}
