/** Whether a CRD's schema is one the real server would take: known keywords, a type everywhere, defaults that fit. */
import { isObject } from './object.ts';
import { applyDefaults, type Schema } from './schema.ts';
import type { Cause } from './status.ts';
import { validate } from './validation.ts';

const keywords = new Set([
  'type',
  'description',
  'title',
  'example',
  'externalDocs',
  'format',
  'nullable',
  'default',
  'enum',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'required',
  'properties',
  'additionalProperties',
  'items',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
]);

/** Keywords that no field of a schema has, as paths below `path`; kubectl warns of them or refuses them. */
export function unknownKeywords(schema: unknown, path: string): string[] {
  if (!isObject(schema)) return [];
  const unknown = Object.keys(schema)
    .filter((key) => !keywords.has(key))
    .map((key) => `${path}.${key}`);
  const children: [string, unknown][] = [
    ['items', schema.items],
    ['additionalProperties', schema.additionalProperties],
    ['not', schema.not],
  ];
  for (const [name, child] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    children.push([`properties.${name}`, child]);
  }
  for (const [name, child] of children) unknown.push(...unknownKeywords(child, `${path}.${name}`));
  return unknown;
}

/** Violations of the rules for structural schemas. `path` is the field that holds `schema`. */
export function checkStructural(schema: Schema, path: string, root = true): Cause[] {
  const causes: Cause[] = [];
  const missing = (field: string, why: string): void => {
    causes.push({ reason: 'FieldValueRequired', field: `${path}.${field}`, message: `Required value: ${why}` });
  };
  const wrong = (field: string, value: unknown, why: string): void => {
    const message = `Invalid value: ${JSON.stringify(value)}: ${why}`;
    causes.push({ reason: 'FieldValueInvalid', field: `${path}.${field}`, message });
  };
  const typeless =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (schema.type === undefined && !typeless) {
    missing('type', root ? 'must not be empty at the root' : 'must not be empty for specified object fields');
  }
  if (root && schema.type !== undefined && schema.type !== 'object') {
    wrong('type', schema.type, 'must be object at the root');
  }
  if (schema.type === 'array' && schema.items === undefined) missing('items', 'must be specified');
  if (schema.properties !== undefined && schema.additionalProperties !== undefined) {
    causes.push({
      reason: 'FieldValueForbidden',
      field: `${path}.additionalProperties`,
      message: 'Forbidden: additionalProperties and properties are mutual exclusive',
    });
  }
  if (schema.pattern !== undefined) {
    try {
      new RegExp(schema.pattern, 'u');
    } catch (error) {
      wrong('pattern', schema.pattern, `must be a valid regular expression, but isn't: ${(error as Error).message}`);
    }
  }
  checkListType(schema, wrong, missing);
  if (schema.default !== undefined) {
    const filled = structuredClone(schema.default);
    applyDefaults(filled, schema);
    for (const cause of validate(filled, { ...schema, default: null }, `${path}.default`)) causes.push(cause);
  }
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    if (root && name === 'metadata') continue;
    causes.push(...checkStructural(child, `${path}.properties[${name}]`, false));
  }
  if (isObject(schema.additionalProperties)) {
    causes.push(...checkStructural(schema.additionalProperties as Schema, `${path}.additionalProperties`, false));
  }
  if (schema.items !== undefined) causes.push(...checkStructural(schema.items, `${path}.items`, false));
  return causes;
}

function checkListType(
  schema: Schema,
  wrong: (field: string, value: unknown, why: string) => void,
  missing: (field: string, why: string) => void,
): void {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  if (schema['x-kubernetes-list-type'] !== 'map') {
    if (keys.length > 0)
      wrong(
        'x-kubernetes-list-type',
        schema['x-kubernetes-list-type'] ?? '',
        'must be map if x-kubernetes-list-map-keys is non-empty',
      );
    return;
  }
  if (schema.type !== 'array') wrong('type', schema.type ?? '', 'must be array if x-kubernetes-list-type is specified');
  if (keys.length === 0) missing('x-kubernetes-list-map-keys', 'must not be empty if x-kubernetes-list-type is map');
  for (const key of keys) {
    const child = schema.items?.properties?.[key];
    if (child === undefined) {
      wrong('x-kubernetes-list-map-keys', key, 'entries must all be names of item properties');
    } else if (child.default === undefined && !schema.items?.required?.includes(key)) {
      missing(
        `items.properties[${key}].default`,
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      );
    }
  }
}
