/** CRDs and their objects: schema, defaults, pruning, rules, status, generation, columns. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ClusterError } from '../client.ts';
import { fixtures, gate, gateVersion } from '../fixtures/server.ts';
import type { KubeObject } from '../object.ts';
import { type ContractServer, startContractServer } from './server.ts';

let lab: ContractServer;
let next = 0;
const freshName = (): string => `gate-${next++}`;

beforeAll(async () => {
  lab = await startContractServer();
});
afterAll(() => lab.close());

async function refusal(work: Promise<unknown>): Promise<ClusterError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ClusterError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

describe('schema', () => {
  it('fills in defaults, also below an object that is itself a default', async () => {
    const created = await lab.client.create(gate(freshName()));
    expect(created.spec).toEqual({ className: 'front', port: 3000, protocol: 'UDP', limits: { rate: 100 } });
    expect(created.metadata).toMatchObject({ generation: 1, namespace: 'default' });
    expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(created.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it.each([
    [{ port: 0 }, 'spec.port: Invalid value: 0: spec.port in body should be greater than or equal to 1'],
    [{ port: 70000 }, 'spec.port: Invalid value: 70000: spec.port in body should be less than or equal to 65535'],
    [{ port: '80' }, 'spec.port: Invalid value: "string": spec.port in body must be of type integer: "string"'],
    [{ port: 1.5 }, 'spec.port in body must be of type integer: "number"'],
    [{ port: null }, 'spec.port in body must be of type integer: "null"'],
    [{ port: undefined }, 'spec.port: Required value'],
    [{ protocol: 'SCTP' }, 'spec.protocol: Unsupported value: "SCTP": supported values: "TCP", "UDP"'],
    [{ className: 'Front' }, `spec.className: Invalid value: "Front": spec.className in body should match '^[a-z]`],
    [{ className: 'a'.repeat(64) }, 'spec.className: Too long: may not be more than 63 bytes'],
    [{ interfaces: ['a', 'b', 'c'] }, 'spec.interfaces: Too many: 3: must have at most 2 items'],
    [{ interfaces: ['a', 'a'] }, 'spec.interfaces[1]: Duplicate value: "a"'],
    [{ nodes: {} }, 'spec.nodes in body should have at least 1 properties'],
    [{ nodes: { a: {} } }, 'spec.nodes.a.weight: Required value'],
    [{ nodes: { a: { weight: -1 } } }, 'spec.nodes.a.weight in body should be greater than or equal to 0'],
  ])('refuses %j', async (spec, message) => {
    const error = await refusal(lab.client.create(gate(freshName(), spec)));
    expect(error).toMatchObject({ code: 422, reason: 'Invalid' });
    expect(error.message).toContain(message);
  });

  it('names every field at fault, in the message and as causes', async () => {
    const error = await refusal(lab.client.create(gate('both', { port: 0, protocol: 'X' })));
    expect(error.status?.details).toMatchObject({ name: 'both', group: 'test.kuport.wlz.li', kind: 'Gate' });
    expect(error.status?.details?.causes?.map(({ field }) => field)).toEqual(['spec.port', 'spec.protocol']);
    expect(error.message).toMatch(
      /Gate\.test\.kuport\.wlz\.li "both" is invalid: \[spec\.port: .*, spec\.protocol: .*\]/,
    );
  });

  it('prunes unknown fields, with a warning, or refuses them, as the client asks', async () => {
    const path = '/apis/test.kuport.wlz.li/v1/namespaces/default/gates';
    const odd = { ...gate(freshName(), { colour: 'red', nodes: { a: { weight: 1, size: 2 } } }), extra: 1 };
    const strict = await refusal(lab.client.call('POST', `${path}?fieldValidation=Strict`, odd));
    expect(strict).toMatchObject({ code: 400, reason: 'BadRequest' });
    expect(strict.message).toContain(
      'Gate in version "v1" cannot be handled as a Gate: strict decoding error: unknown field "spec.colour", unknown field "spec.nodes.a.size", unknown field "extra"',
    );
    const kept = await lab.client.call<KubeObject>('POST', path, odd);
    expect(kept.spec).not.toHaveProperty('colour');
    expect(kept.spec).toHaveProperty('nodes', { a: { weight: 1 } });
    expect(kept).not.toHaveProperty('extra');
  });
});

describe('rules', () => {
  it('takes the message from an expression and the field from fieldPath', async () => {
    const error = await refusal(lab.client.create(gate(freshName(), { port: 80, endPort: 70 })));
    expect(error.message).toContain('spec.endPort: Invalid value: "object": endPort lies before port in class front');
  });

  it('runs rules about the old value on updates only, also for a field that comes or goes', async () => {
    const created = await lab.client.create(gate(freshName()));
    const { name } = created.metadata;
    const patch = (spec: object) => lab.client.patch(gateVersion, 'Gate', name, 'default', { spec });
    expect((await refusal(patch({ className: 'back' }))).message).toContain(
      'spec.className: Invalid value: "string": className is immutable',
    );
    expect((await refusal(patch({ endPort: 4000 }))).message).toContain('endPort is immutable');
    await expect(patch({ port: 3001 })).resolves.toMatchObject({ spec: { port: 3001 } });
  });

  it('compares items of a list with map keys one by one', async () => {
    const { metadata } = await lab.client.create(gate(freshName()));
    const status = (links: object[]) =>
      lab.client.patch(gateVersion, 'Gate', metadata.name, 'default', { status: { links } }, 'status');
    await status([
      { key: 'a/b', slot: 0 },
      { key: 'a/c', slot: 1 },
    ]);
    await status([
      { key: 'a/c', slot: 1 },
      { key: 'a/d', slot: 2 },
    ]);
    const moved = await refusal(
      status([
        { key: 'a/d', slot: 2 },
        { key: 'a/c', slot: 3 },
      ]),
    );
    expect(moved.message).toContain('status.links[1].slot: Invalid value: "integer": a slot never moves');
    const twice = await refusal(status([{ key: 'a/d' }, { key: 'a/d' }]));
    expect(twice.message).toContain('status.links[1]: Duplicate value: {"key":"a/d"}');
  });
});

describe('status and generation', () => {
  it('keeps status off the main endpoint and everything else off /status', async () => {
    const created = await lab.client.create({ ...gate(freshName()), status: { phase: 'Open' } });
    expect(created).not.toHaveProperty('status');
    const both = { ...created, spec: { ...created.spec, port: 4000 }, status: { phase: 'Open' } };
    const byStatus = await lab.client.replaceStatus(both);
    expect(byStatus).toMatchObject({ spec: { port: 3000 }, status: { phase: 'Open' }, metadata: { generation: 1 } });
    const byMain = await lab.client.replace({ ...byStatus, spec: both.spec, status: { phase: 'Shut' } });
    expect(byMain).toMatchObject({ spec: { port: 4000 }, status: { phase: 'Open' }, metadata: { generation: 2 } });
    const labelled = await lab.client.patch<KubeObject>(gateVersion, 'Gate', created.metadata.name, 'default', {
      metadata: { labels: { a: 'b' } },
    });
    expect(labelled.metadata.generation).toBe(2);
  });

  it('checks the status too', async () => {
    const created = await lab.client.create(gate(freshName()));
    const error = await refusal(lab.client.replaceStatus({ ...created, status: { phase: 'Ajar' } }));
    expect(error.message).toContain('status.phase: Unsupported value: "Ajar"');
  });
});

describe('definitions', () => {
  const definition = (): {
    spec: { versions: { schema: { openAPIV3Schema: Record<string, unknown> } }[] };
  } & KubeObject => {
    const crd = parse(readFileSync(join(fixtures, 'gate.yaml'), 'utf8'));
    crd.metadata.name = 'doors.test.kuport.wlz.li';
    crd.spec.names = { kind: 'Door', plural: 'doors' };
    return crd;
  };

  it('are served from their creation to their deletion, which takes their objects along', async () => {
    await lab.client.create(definition());
    const crd = await lab.client.get('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'doors.test.kuport.wlz.li');
    expect(crd.status).toMatchObject({ acceptedNames: { singular: 'door', listKind: 'DoorList' } });
    expect(JSON.stringify(crd.status)).toContain('"type":"Established","status":"True"');
    await lab.client.create({ ...gate('front-door'), kind: 'Door' });
    expect((await lab.client.list(gateVersion, 'Door')).items).toHaveLength(1);
    await lab.client.delete('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'doors.test.kuport.wlz.li');
    const gone = await refusal(lab.client.call('GET', '/apis/test.kuport.wlz.li/v1/namespaces/default/doors'));
    expect(gone.code).toBe(404);
    await lab.client.create(definition());
    expect((await lab.client.list(gateVersion, 'Door')).items).toEqual([]);
    await lab.client.delete('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'doors.test.kuport.wlz.li');
  });

  it.each([
    [
      'a rule that does not parse',
      { type: 'object', 'x-kubernetes-validations': [{ rule: 'self.a ==' }] },
      'x-kubernetes-validations[0].rule: "self.a =="',
    ],
    [
      'a field without a type',
      { type: 'object', properties: { a: { minimum: 1 } } },
      'properties[a].type: Required value',
    ],
    [
      'a list without items',
      { type: 'object', properties: { a: { type: 'array' } } },
      'properties[a].items: Required value',
    ],
    [
      'a default that does not fit',
      { type: 'object', properties: { a: { type: 'integer', default: 'x' } } },
      'properties[a].default',
    ],
    [
      'a pattern that does not parse',
      { type: 'object', properties: { a: { type: 'string', pattern: '(' } } },
      'properties[a].pattern',
    ],
    [
      'map keys that may be absent',
      {
        type: 'object',
        properties: {
          a: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['k'],
            items: { type: 'object', properties: { k: { type: 'string' } } },
          },
        },
      },
      'must have a default or be a required property',
    ],
  ])('are refused for %s', async (_, schema, message) => {
    const crd = definition();
    for (const version of crd.spec.versions) version.schema.openAPIV3Schema = schema;
    const error = await refusal(lab.client.create(crd));
    expect(error).toMatchObject({ code: 422 });
    expect(error.message).toContain(message);
  });
});
