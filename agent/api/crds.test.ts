/**
 * crds/ and types.ts say the same. The compiler holds the tables below against the types: a field that is added, dropped,
 * made optional or given another value in types.ts does not compile until its table follows, and the tables are held
 * against the schemas here.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { PortMap, PortMapClass } from './types.ts';

type Optional<Inner> = { optional: Inner };

/** A type as a value. */
type Shape<Type> = [Type] extends [string]
  ? string extends Type
    ? 'string'
    : { oneOf: Record<Type, true> }
  : [Type] extends [number]
    ? 'integer'
    : [Type] extends [boolean]
      ? 'boolean'
      : [Type] extends [readonly (infer Item)[]]
        ? [Shape<Item>]
        : string extends keyof Type
          ? { eachOf: Shape<Type[keyof Type]> }
          : {
              [Key in keyof Type]-?: object extends Pick<Type, Key>
                ? Optional<Shape<NonNullable<Type[Key]>>>
                : Shape<Type[Key]>;
            };

const optional = <Inner>(inner: Inner): Optional<Inner> => ({ optional: inner });

const protocol = { oneOf: { TCP: true, UDP: true } } as const;
const conditions: Optional<Shape<NonNullable<NonNullable<PortMap['status']>['conditions']>>> = optional([
  {
    type: 'string',
    status: { oneOf: { True: true, False: true, Unknown: true } },
    reason: 'string',
    message: 'string',
    observedGeneration: optional('integer'),
    lastTransitionTime: optional('string'),
  },
]);

const portMap: Shape<Pick<PortMap, 'spec' | 'status'>> = {
  spec: {
    className: 'string',
    protocol,
    port: 'integer',
    endPort: optional('integer'),
    interfaces: optional(['string']),
    idleTimeout: optional('string'),
    serviceRef: { name: 'string', port: 'string' },
  },
  status: optional({
    endpoint: optional({ node: 'string', pod: 'string', address: 'string' }),
    published: optional([{ node: 'string', interface: 'string', address: 'string' }]),
    addresses: optional('string'),
    conditions,
  }),
};

const portMapClass: Shape<Pick<PortMapClass, 'spec' | 'status'>> = {
  spec: {
    nodes: { eachOf: { interfaces: ['string'] } },
    servingMode: optional({ oneOf: { Single: true, Multi: true } }),
    ports: optional({ min: optional('integer'), max: optional('integer'), reserved: optional(['integer']) }),
    namespaceSelector: optional({
      matchLabels: optional({ eachOf: 'string' }),
      matchExpressions: optional([
        {
          key: 'string',
          operator: { oneOf: { In: true, NotIn: true, Exists: true, DoesNotExist: true } },
          values: optional(['string']),
        },
      ]),
    }),
    returnPath: {
      mode: { oneOf: { Vxlan: true, None: true } },
      vxlan: optional({
        vni: optional('integer'),
        port: optional('integer'),
        subnet: optional('string'),
        underlayInterface: optional('string'),
      }),
    },
  },
  status: optional({
    links: optional([
      { key: 'string', peers: ['string'], slot: 'integer', subnet: 'string', unusedSince: optional('string') },
    ]),
    nodes: optional([
      {
        name: 'string',
        ready: 'boolean',
        message: 'string',
        underlayAddress: optional('string'),
        underlayMTU: optional('integer'),
        linkMTU: optional('integer'),
        addresses: optional({ eachOf: 'string' }),
        takenPorts: optional([{ interface: optional('string'), protocol, port: 'integer', role: 'string' }]),
      },
    ]),
    conditions,
  }),
};

interface Schema {
  type: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  required?: string[];
  items?: Schema;
  enum?: string[];
  format?: string;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
}

interface Version {
  additionalPrinterColumns: { name: string; jsonPath: string; priority?: number }[];
  schema: { openAPIV3Schema: Schema };
  subresources?: object;
}

function version(file: string): Version {
  const path = fileURLToPath(new URL(`../../crds/${file}.yaml`, import.meta.url));
  const { spec } = parse(readFileSync(path, 'utf8')) as { spec: { versions: [Version] } };
  return spec.versions[0];
}

/** A schema as the tables above write it. */
function shapeOf(schema: Schema): unknown {
  if (schema.enum !== undefined) return { oneOf: Object.fromEntries(schema.enum.map((value) => [value, true])) };
  if (schema.items !== undefined) return [shapeOf(schema.items)];
  if (schema.additionalProperties !== undefined) return { eachOf: shapeOf(schema.additionalProperties) };
  if (schema.properties === undefined) return schema.type;
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, inner]) => [
      name,
      schema.required?.includes(name) ? shapeOf(inner) : optional(shapeOf(inner)),
    ]),
  );
}

/** Every schema below one, by path. */
function* all(schema: Schema, path = ''): Generator<[string, Schema]> {
  yield [path, schema];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* all(inner, `${path}.${name}`);
  if (schema.items !== undefined) yield* all(schema.items, `${path}[]`);
  if (schema.additionalProperties !== undefined) yield* all(schema.additionalProperties, `${path}{}`);
}

describe.each([
  ['portmaps', portMap],
  ['portmapclasses', portMapClass],
])('crds/%s.yaml', (file, shape) => {
  const { schema, subresources, additionalPrinterColumns } = version(file);
  const { spec, status } = schema.openAPIV3Schema.properties ?? {};
  const parts = [
    ...(spec === undefined ? [] : all(spec, '.spec')),
    ...(status === undefined ? [] : all(status, '.status')),
  ];

  test('has the fields of types.ts', () => {
    const {
      apiVersion: _,
      kind: __,
      metadata: ___,
      ...fields
    } = shapeOf(schema.openAPIV3Schema) as Record<string, unknown>;
    expect(fields).toEqual(shape);
  });

  test('describes every field', () => {
    const fields = parts.filter(([path]) => !/(\[\]|\{\})$/.test(path));
    expect(fields.filter(([, each]) => each.description === undefined).map(([path]) => path)).toEqual([]);
  });

  test('bounds every string, list and map: rules over unbounded ones are refused for what they could cost', () => {
    const unbounded = parts.filter(
      ([, each]) =>
        (each.type === 'string' &&
          each.enum === undefined &&
          each.format === undefined &&
          each.maxLength === undefined) ||
        (each.type === 'array' && each.maxItems === undefined) ||
        (each.additionalProperties !== undefined && each.maxProperties === undefined),
    );
    expect(unbounded.map(([path]) => path)).toEqual([]);
  });

  test('has its status written apart, and columns that show one value', () => {
    expect(subresources).toEqual({ status: {} });
    // Of `[*]` the API server shows the first match only.
    expect(additionalPrinterColumns.filter((each) => each.jsonPath.includes('[*]'))).toEqual([]);
  });
});

test('columns', () => {
  const columns = (file: string): string[] =>
    version(file).additionalPrinterColumns.map(
      ({ name, priority = 0 }) => `${name.toUpperCase()}${priority === 0 ? '' : ' wide'}`,
    );
  expect(columns('portmaps')).toEqual([
    'CLASS',
    'PROTO',
    'PORT',
    'ENDPOINT',
    'PROGRAMMED',
    'AGE',
    'ADDRESSES wide',
    'REASON wide',
  ]);
  expect(columns('portmapclasses')).toEqual(['MODE', 'SERVING', 'READY', 'AGE', 'NODES wide']);
});
