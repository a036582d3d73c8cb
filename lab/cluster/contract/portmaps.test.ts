/** kuport's own kinds: defaults, every bound and rule, what may change, status, columns as kubectl shows them. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ClusterError } from '../client.ts';
import type { KubeObject } from '../object.ts';
import { type ContractServer, startContractServer } from './server.ts';

const version = 'kuport.wlz.li/v1alpha1';
let lab: ContractServer;
beforeAll(async () => {
  lab = await startContractServer([fileURLToPath(new URL('../../../crds', import.meta.url))]);
});
afterAll(() => lab.close());

let next = 0;
type Fields = Record<string, unknown>;
type WithSpec = KubeObject & { spec: Fields; status?: Fields };

const portMap = (spec: Fields = {}): WithSpec => ({
  apiVersion: version,
  kind: 'PortMap',
  metadata: { name: `map-${next++}`, namespace: 'default' },
  spec: { className: 'public', protocol: 'UDP', port: 3000, serviceRef: { name: 'game', port: 'game' }, ...spec },
});
const portMapClass = (spec: Fields = {}): WithSpec => ({
  apiVersion: version,
  kind: 'PortMapClass',
  metadata: { name: `class-${next++}` },
  spec: { nodes: { 'edge-a': { interfaces: ['enp1s0'] } }, returnPath: { mode: 'Vxlan' }, ...spec },
});

async function refusal(work: Promise<unknown>): Promise<ClusterError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ClusterError) return error;
    throw error;
  }
  throw new Error('was not refused');
}

const long = (length: number): string => 'a'.repeat(length);
const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `eth${index}`);

describe('PortMap', () => {
  it.each<[string, Fields]>([
    ['spec.className', { className: undefined }],
    ['spec.className', { className: '' }],
    ['spec.className', { className: long(254) }],
    ['spec.className', { className: 7 }],
    ['spec.protocol', { protocol: undefined }],
    ['spec.protocol', { protocol: 'SCTP' }],
    ['spec.protocol', { protocol: 'udp' }],
    ['spec.port', { port: undefined }],
    ['spec.port', { port: 0 }],
    ['spec.port', { port: 65536 }],
    ['spec.port', { port: '80' }],
    ['spec.port', { port: 1.5 }],
    ['spec.endPort', { endPort: 0 }],
    ['spec.endPort', { endPort: 65536 }],
    ['endPort must not be below port', { endPort: 2999 }],
    ['spec.interfaces', { interfaces: many(17) }],
    ['spec.interfaces[1]', { interfaces: ['eth0', 'eth0'] }],
    ['spec.interfaces[0]', { interfaces: [''] }],
    ['spec.interfaces[0]', { interfaces: [long(16)] }],
    ['spec.idleTimeout', { idleTimeout: '10 s' }],
    ['spec.idleTimeout', { idleTimeout: 90 }],
    ['spec.idleTimeout', { idleTimeout: '1.5h' }],
    ['idleTimeout must be from 30s to 168h', { idleTimeout: '29s' }],
    ['idleTimeout must be from 30s to 168h', { idleTimeout: '168h1s' }],
    ['spec.idleTimeout', { idleTimeout: '' }],
    ['spec.serviceRef', { serviceRef: undefined }],
    ['spec.serviceRef.name', { serviceRef: { port: 'game' } }],
    ['spec.serviceRef.port', { serviceRef: { name: 'game' } }],
    ['spec.serviceRef.name', { serviceRef: { name: '', port: 'game' } }],
    ['spec.serviceRef.name', { serviceRef: { name: long(64), port: 'game' } }],
    ['spec.serviceRef.port', { serviceRef: { name: 'game', port: '' } }],
    ['spec.serviceRef.port', { serviceRef: { name: 'game', port: 3000 } }],
  ])('names %s when refusing %j', async (field, spec) => {
    const error = await refusal(lab.client.create(portMap(spec)));
    expect(error.code).toBe(422);
    expect(error.message).toContain(field);
  });

  it('refuses unknown fields, and an object without a spec', async () => {
    expect((await refusal(lab.client.create(portMap({ portt: 1 })))).message).toContain('unknown field "spec.portt"');
    const { spec: _, ...bare } = portMap();
    expect((await refusal(lab.client.create(bare))).message).toContain('spec: Required value');
  });

  it.each<[Fields, string]>([
    [{ className: 'other' }, 'className cannot be changed'],
    [{ protocol: 'TCP' }, 'protocol cannot be changed'],
    [{ port: 3001 }, 'port cannot be changed'],
    [{ endPort: 3005 }, 'endPort cannot be changed'],
    [{ endPort: null }, 'endPort cannot be changed'],
  ])('cannot be changed by %j', async (spec, message) => {
    const { metadata } = await lab.client.create(portMap({ endPort: 3002 }));
    const error = await refusal(lab.client.patch(version, 'PortMap', metadata.name, 'default', { spec }));
    expect(error).toMatchObject({ code: 422, message: expect.stringContaining(message) });
  });

  it('takes no endPort later on, and may change what is not its port', async () => {
    const { metadata } = await lab.client.create(portMap());
    const patch = (spec: Fields) => lab.client.patch<WithSpec>(version, 'PortMap', metadata.name, 'default', { spec });
    expect((await refusal(patch({ endPort: 3001 }))).message).toContain('endPort cannot be changed');
    const spec = { interfaces: ['eth0'], idleTimeout: '168h', serviceRef: { name: 'other', port: 'p' } };
    const changed = await patch(spec);
    expect(changed.spec).toMatchObject(spec);
    expect(changed.metadata.generation).toBe(2);
    expect((await patch({ idleTimeout: '1h30m' })).spec).toMatchObject({ idleTimeout: '1h30m' });
  });

  it('has its status written apart, which makes no generation', async () => {
    const created = await lab.client.create(portMap());
    const conditions = [{ type: 'Programmed', status: 'True', reason: 'Programmed', message: '' }];
    const status = { endpoint: { node: 'worker-b', pod: 'game-0', address: '10.244.4.10' }, conditions };
    const ignored = await lab.client.replace({ ...created, status });
    expect(ignored.status).toBeUndefined();
    const written = await lab.client.replaceStatus({ ...ignored, status, spec: { ...created.spec, port: 9 } });
    expect(written).toMatchObject({ status, spec: { port: 3000 }, metadata: { generation: 1 } });
    const twice = { conditions: [...conditions, ...conditions] };
    expect((await refusal(lab.client.replaceStatus({ ...written, status: twice }))).message).toContain(
      'status.conditions[1]: Duplicate value',
    );
    const wrong = { conditions: [{ type: 'Programmed', status: 'Yes', reason: 'Programmed', message: '' }] };
    expect((await refusal(lab.client.replaceStatus({ ...written, status: wrong }))).message).toContain(
      'status.conditions[0].status: Unsupported value: "Yes"',
    );
  });

  it('shows its columns', async () => {
    const created = await lab.client.create({ ...portMap(), metadata: { name: 'shown', namespace: 'default' } });
    await lab.client.replaceStatus({
      ...created,
      status: {
        endpoint: { node: 'worker-b', pod: 'game-0', address: '10.244.4.10' },
        addresses: '203.0.113.9:3000',
        conditions: [
          { type: 'Accepted', status: 'True', reason: 'Valid', message: '' },
          { type: 'Programmed', status: 'False', reason: 'NodeNotReady', message: 'x' },
        ],
      },
    });
    const table = await lab.client.table<{
      columnDefinitions: { name: string; type: string; priority: number }[];
      rows: { cells: unknown[] }[];
    }>(`/apis/${version}/namespaces/default/portmaps?fieldSelector=metadata.name%3Dshown`);
    expect(table.columnDefinitions.map(({ name, type, priority }) => [name, type, priority])).toEqual([
      ['Name', 'string', 0],
      ['Class', 'string', 0],
      ['Proto', 'string', 0],
      ['Port', 'integer', 0],
      ['Endpoint', 'string', 0],
      ['Programmed', 'string', 0],
      ['Age', 'date', 0],
      ['Addresses', 'string', 1],
      ['Reason', 'string', 1],
    ]);
    const [row] = table.rows;
    expect(row?.cells.filter((_, index) => index !== 6)).toEqual([
      'shown',
      'public',
      'UDP',
      3000,
      'game-0',
      'False',
      '203.0.113.9:3000',
      'NodeNotReady',
    ]);
    expect(row?.cells[6]).toMatch(/^\d+s$/);
  });
});

describe('PortMapClass', () => {
  it('gets its defaults', async () => {
    const created = await lab.client.create(portMapClass({ returnPath: { mode: 'Vxlan', vxlan: {} } }));
    expect(created.spec).toMatchObject({
      servingMode: 'Single',
      ports: { min: 1, max: 65535 },
      returnPath: { vxlan: { vni: 4242, port: 4790, subnet: '169.254.77.0/24' } },
    });
    expect((await lab.client.create(portMapClass())).spec).toEqual(created.spec);
  });

  it.each<[string, Fields]>([
    ['spec.nodes', { nodes: undefined }],
    ['spec.nodes', { nodes: {} }],
    ['spec.nodes.edge-a.interfaces', { nodes: { 'edge-a': {} } }],
    ['spec.nodes.edge-a.interfaces', { nodes: { 'edge-a': { interfaces: [] } } }],
    ['spec.nodes.edge-a.interfaces', { nodes: { 'edge-a': { interfaces: many(17) } } }],
    ['spec.nodes.edge-a.interfaces', { nodes: { 'edge-a': { interfaces: [long(16)] } } }],
    ['spec.nodes.edge-a.interfaces', { nodes: { 'edge-a': { interfaces: ['eth0', 'eth0'] } } }],
    ['spec.nodes.edge-a.interfaces', { nodes: { 'edge-a': { interfaces: ['eth 0'] } } }],
    ['spec.nodes.edge-a.interfaces', { nodes: { 'edge-a': { interfaces: ['a/b'] } } }],
    ['spec.servingMode', { servingMode: 'Both' }],
    ['spec.ports.min', { ports: { min: 0 } }],
    ['spec.ports.max', { ports: { max: 65536 } }],
    ['ports.min must not be above ports.max', { ports: { min: 2000, max: 1000 } }],
    ['spec.ports.reserved', { ports: { reserved: [0] } }],
    ['spec.ports.reserved', { ports: { reserved: [5, 5] } }],
    ['spec.namespaceSelector.matchExpressions', { namespaceSelector: { matchExpressions: [{ key: 'a' }] } }],
    [
      'spec.namespaceSelector.matchExpressions',
      { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } },
    ],
    ['spec.returnPath', { returnPath: undefined }],
    ['spec.returnPath.mode', { returnPath: {} }],
    ['spec.returnPath.mode', { returnPath: { mode: 'Tunnel' } }],
    ['spec.returnPath.vxlan.vni', { returnPath: { mode: 'Vxlan', vxlan: { vni: 16777216 } } }],
    ['spec.returnPath.vxlan.port', { returnPath: { mode: 'Vxlan', vxlan: { port: 0 } } }],
    ['spec.returnPath.vxlan.subnet', { returnPath: { mode: 'Vxlan', vxlan: { subnet: '255.255.255.255/320' } } }],
    ['spec.returnPath.vxlan.underlayInterface', { returnPath: { mode: 'Vxlan', vxlan: { underlayInterface: '' } } }],
  ])('names %s when refusing %j', async (field, spec) => {
    const error = await refusal(lab.client.create(portMapClass(spec)));
    expect(error.code).toBe(422);
    expect(error.message).toContain(field);
  });

  it('shows its columns', async () => {
    const { metadata } = await lab.client.create(portMapClass());
    const table = await lab.client.table<{
      columnDefinitions: { name: string; priority: number }[];
      rows: { cells: unknown[] }[];
    }>(`/apis/${version}/portmapclasses?fieldSelector=metadata.name%3D${metadata.name}`);
    expect(table.columnDefinitions.map(({ name, priority }) => `${name}/${priority}`)).toEqual([
      ...['Name/0', 'Mode/0', 'Serving/0', 'Ready/0', 'Age/0', 'Nodes/1'],
    ]);
    const [row] = table.rows;
    expect(row?.cells.slice(0, 4)).toEqual([metadata.name, 'Vxlan', 'Single', expect.toBeOneOf([null, ''])]);
    expect(row?.cells[5]).toBe('{"edge-a":{"interfaces":["enp1s0"]}}');
  });
});
