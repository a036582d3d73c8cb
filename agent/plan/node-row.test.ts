import { describe, expect, test } from 'vitest';
import type { HostFacts } from './node-plan.ts';
import { nodeRow } from './node-row.ts';
import { host, node, portMapClass, snapshot } from './testing/snapshots.ts';

const rowOn = (facts: Partial<HostFacts> = {}, portMap = portMapClass(), parts = {}) =>
  nodeRow(snapshot(parts), portMap, 'edge-a', host('edge-a', facts));
const vxlan = (settings: object) => portMapClass({ returnPath: { mode: 'Vxlan', vxlan: settings } });
const listener = (
  port: number,
  rest: Partial<HostFacts['listeners'][number]> = {},
): HostFacts['listeners'][number] => ({
  protocol: 'TCP',
  port,
  address: null,
  role: `listener ${port}`,
  ...rest,
});

test('a node that has all of it', () => {
  expect(rowOn()).toEqual({
    name: 'edge-a',
    ready: true,
    message: '',
    underlayAddress: '100.64.93.143',
    underlayMTU: 1420,
    linkMTU: 1370,
    addresses: { enp1s0: '203.0.113.9' },
    takenPorts: [{ protocol: 'UDP', port: 4790, role: "kuport's links" }],
  });
});

describe('a node that lacks something says what', () => {
  test.each<[string, ReturnType<typeof rowOn>, string]>([
    [
      'an interface of the class',
      rowOn({}, portMapClass({ nodes: { 'edge-a': { interfaces: ['enp1s0', 'eth7'] } } })),
      'interface eth7 is not on this node',
    ],
    [
      'the underlay interface',
      rowOn({}, vxlan({ underlayInterface: 'wt9' })),
      'underlayInterface wt9 is not on this node',
    ],
    [
      "the underlay interface's address",
      rowOn(
        {
          interfaces: [
            { name: 'enp1s0', mtu: 1500, addresses: ['203.0.113.9'] },
            { name: 'wt0', mtu: 1420, addresses: [] },
          ],
        },
        vxlan({ underlayInterface: 'wt0' }),
      ),
      'underlayInterface wt0 has no IPv4 address',
    ],
    [
      "an interface with the Node's address",
      rowOn({}, portMapClass(), { nodes: [node('edge-x'), { metadata: { name: 'edge-a' } }] }),
      "no interface here has the Node's InternalIP (none): set spec.returnPath.vxlan.underlayInterface",
    ],
  ])('%s', (_, row, message) => {
    expect(row).toMatchObject({ ready: false, message });
  });

  test('without links no underlay is asked for', () => {
    const row = rowOn(
      { interfaces: [{ name: 'enp1s0', mtu: 1500, addresses: ['203.0.113.9'] }] },
      portMapClass({ returnPath: { mode: 'None' } }),
    );
    expect(row).toEqual({ name: 'edge-a', ready: true, message: '', addresses: { enp1s0: '203.0.113.9' } });
  });
});

test('the underlay interface of the class is taken, not the one with the InternalIP', () => {
  expect(rowOn({}, vxlan({ underlayInterface: 'enp1s0' }))).toMatchObject({
    underlayAddress: '203.0.113.9',
    underlayMTU: 1500,
    linkMTU: 1450,
  });
});

describe('ports in use', () => {
  const taken = (listeners: HostFacts['listeners'], ports = {}) =>
    rowOn({ listeners }, portMapClass({ ports, returnPath: { mode: 'None' } })).takenPorts ?? [];

  test("on an address of an interface of the class, and on every address; not on another interface's", () => {
    expect(
      taken([
        listener(443, { address: '203.0.113.9' }),
        listener(22),
        listener(6443, { address: '100.64.93.143' }),
        listener(53, { address: '127.0.0.1' }),
      ]),
    ).toEqual([
      { protocol: 'TCP', port: 22, role: 'listener 22' },
      { interface: 'enp1s0', protocol: 'TCP', port: 443, role: 'listener 443' },
    ]);
  });

  test('only those that the class gives out: the others are refused anyway', () => {
    const ports = [1023, 1024, 2000, 2001].map((port) => listener(port));
    expect(taken(ports, { min: 1024, max: 2000 }).map((each) => each.port)).toEqual([1024, 2000]);
  });

  test('one that several sockets share once', () => {
    expect(taken([listener(22), listener(22, { role: 'another' })])).toHaveLength(1);
  });

  test('more than a row has room for: what is left out is said', () => {
    const row = rowOn(
      { listeners: Array.from({ length: 1025 }, (_, index) => listener(2000 + index)) },
      portMapClass({ returnPath: { mode: 'None' } }),
    );
    expect(row.takenPorts).toHaveLength(1024);
    expect(row.message).toBe('1025 ports are in use on this node, of which only the first 1024 are refused');
  });
});

describe('what checks of the host have found', () => {
  const findings = { failed: ['net.ipv4.ip_forward is 0'], warnings: ['an ip rule stands before'] };

  test('makes the node not ready where it keeps mappings from working, and is said with what else is wrong', () => {
    const portMap = portMapClass({ nodes: { 'edge-a': { interfaces: ['eth7'] } } });
    expect(rowOn({ findings }, portMap)).toMatchObject({
      ready: false,
      message: 'net.ipv4.ip_forward is 0; interface eth7 is not on this node; an ip rule stands before',
    });
  });

  test('is not known yet: what the row says stands', () => {
    const row = { name: 'edge-a', ready: false, message: 'net.ipv4.ip_forward is 0' };
    const said = portMapClass({}, { status: { nodes: [row] } });
    expect(rowOn({}, said)).toMatchObject({ ready: false, message: 'net.ipv4.ip_forward is 0', underlayMTU: 1420 });
    expect(rowOn({ findings: { failed: [], warnings: [] } }, said)).toMatchObject({ ready: true, message: '' });
  });

  test('is said of a node that is ready where it may keep them', () => {
    expect(rowOn({ findings: { ...findings, failed: [] } })).toMatchObject({
      ready: true,
      message: 'an ip rule stands before',
    });
  });
});

test("the links' port held by somebody else is a problem; by kuport's links, over TCP or without links it is none", () => {
  const message = (held: Partial<HostFacts['listeners'][number]>, portMap = portMapClass()): string =>
    rowOn({ listeners: [listener(4790, { protocol: 'UDP', role: 'vxlan', ...held })] }, portMap).message;
  expect(message({})).toBe('UDP port 4790 (spec.returnPath.vxlan.port) is taken on this node by vxlan: use another');
  expect(message({ role: 'kuport links' })).toBe('');
  expect(message({ protocol: 'TCP' })).toBe('');
  expect(message({}, portMapClass({ returnPath: { mode: 'None' } }))).toBe('');
});
