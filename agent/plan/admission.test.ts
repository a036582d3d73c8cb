import type { V1Service } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import { admitAll } from './admission.ts';
import type { ClusterSnapshot } from './snapshot.ts';
import { portMap, portMapClass, slice, snapshot } from './testing/snapshots.ts';

const verdictOn = (parts: Partial<ClusterSnapshot>, key = 'games/gameserver'): string => {
  const verdict = admitAll(snapshot(parts)).get(key);
  return `${verdict?.reason}: ${verdict?.message}`;
};

describe('a mapping is refused with the object, field, value and way out', () => {
  const taken = portMapClass(
    {},
    {
      status: {
        nodes: [
          {
            name: 'edge-a',
            ready: true,
            message: '',
            takenPorts: [{ protocol: 'UDP', port: 51820, role: 'WireGuard (wt0)' }],
          },
        ],
      },
    },
  );
  const atEdge = portMapClass(
    {},
    { status: { nodes: [{ name: 'edge-a', ready: true, message: '', addresses: { enp1s0: '203.0.113.9' } }] } },
  );
  const balanced = (ip: string): V1Service => ({
    metadata: { namespace: 'web', name: 'front' },
    spec: { ports: [{ port: 3000, protocol: 'UDP' }] },
    status: { loadBalancer: { ingress: [{ ip }] } },
  });
  test.each<[string, Partial<ClusterSnapshot>, string]>([
    ['nothing is wrong', {}, 'Valid: '],
    [
      'no such class',
      { portMaps: [portMap({ className: 'pubic' })] },
      'ClassNotFound: no PortMapClass is named "pubic" (spec.className): there are public; create it, or make another PortMap',
    ],
    [
      'no class at all',
      { classes: [] },
      'ClassNotFound: no PortMapClass is named "public" (spec.className): there is none yet; create it, or make another PortMap',
    ],
    [
      'range upside down',
      { portMaps: [portMap({ port: 3000, endPort: 2000 })] },
      'InvalidPortRange: spec.endPort 2000 is below spec.port 3000: make another PortMap with endPort at or above port',
    ],
    [
      'namespace not selected',
      { classes: [portMapClass({ namespaceSelector: { matchLabels: { team: 'mail' } } })] },
      'NamespaceNotSelected: class public does not serve namespace games: its labels (team=games) do not match spec.namespaceSelector of the class (team=mail); label the namespace, or use another class',
    ],
    [
      'namespace not selected by an expression, and without labels',
      {
        classes: [
          portMapClass({
            namespaceSelector: {
              matchExpressions: [
                { key: 'team', operator: 'In', values: ['games', 'mail'] },
                { key: 'tier', operator: 'NotIn', values: ['test'] },
                { key: 'public', operator: 'Exists' },
                { key: 'legacy', operator: 'DoesNotExist' },
              ],
            },
          }),
        ],
        namespaces: [{ metadata: { name: 'games' } }],
      },
      'NamespaceNotSelected: class public does not serve namespace games: its labels (none) do not match spec.namespaceSelector of the class (team in (games, mail), tier notin (test), public, !legacy); label the namespace, or use another class',
    ],
    [
      'namespace selected by expression',
      {
        classes: [
          portMapClass({
            namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['games'] }] },
          }),
        ],
      },
      'Valid: ',
    ],
    [
      'below the range',
      { classes: [portMapClass({ ports: { min: 4000, max: 5000 } })] },
      'PortOutOfRange: port 3000 is outside 4000-5000, which spec.ports of class public gives out: ask for one inside',
    ],
    [
      'range ends above',
      { classes: [portMapClass({ ports: { max: 3005 } })], portMaps: [portMap({ endPort: 3006 })] },
      'PortOutOfRange: port 3000-3006 is outside 1-3005, which spec.ports of class public gives out: ask for one inside',
    ],
    [
      'reserved',
      { classes: [portMapClass({ ports: { reserved: [443, 3000] } })] },
      'PortReserved: port 3000 is reserved (spec.ports.reserved of class public): ask for another',
    ],
    [
      'reserved inside a range',
      { classes: [portMapClass({ ports: { reserved: [3005] } })], portMaps: [portMap({ endPort: 3010 })] },
      'PortReserved: port 3005 is reserved (spec.ports.reserved of class public): ask for another',
    ],
    [
      'interface unknown',
      { portMaps: [portMap({ interfaces: ['eth9'] })] },
      'InterfaceNotInClass: interface eth9 (spec.interfaces) is on no node of class public: name one of enp1s0, or none',
    ],
    [
      'range that would be translated',
      { portMaps: [portMap({ endPort: 3010 })], endpointSlices: [slice([{ node: 'worker-b' }], 7000)] },
      'RangeTranslation: range 3000-3010 must map to itself, but port "game" of Service gameserver is 7000 on pod gameserver-0: let the pod listen on the range\'s own ports and make 3000 the Service\'s targetPort',
    ],
    [
      'port the node listens on',
      { classes: [taken], portMaps: [portMap({ port: 51820 })] },
      'PortInUse: port 51820/UDP on edge-a is taken by the node itself, WireGuard (wt0): ask for another',
    ],
    [
      'NodePort that Cilium answers',
      {
        portMaps: [portMap({ port: 29990, endPort: 30010 })],
        endpointSlices: [],
        cniConfig: { 'kube-proxy-replacement': 'true' },
      },
      "PortInUse: port 30000/UDP on edge-a is taken by the node itself, NodePorts 30000-32767, which Cilium answers in kube-proxy's place: ask for another",
    ],
    [
      'NodePort of another range',
      {
        portMaps: [portMap({ port: 30000 })],
        cniConfig: { 'kube-proxy-replacement': 'true', 'node-port-range': '31000,31999' },
      },
      'Valid: ',
    ],
    [
      'NodePort that kube-proxy answers, after the mapping has',
      { portMaps: [portMap({ port: 30000 })], cniConfig: { 'kube-proxy-replacement': 'false' } },
      'Valid: ',
    ],
    [
      "Service on the node's address that Cilium answers",
      { classes: [atEdge], services: [balanced('203.0.113.9')], cniConfig: { 'kube-proxy-replacement': 'true' } },
      "PortInUse: port 3000/UDP on edge-a is taken by the node itself, Service web/front, which Cilium answers in kube-proxy's place: ask for another",
    ],
    [
      'Service on another address',
      { classes: [atEdge], services: [balanced('203.0.113.99')], cniConfig: { 'kube-proxy-replacement': 'true' } },
      'Valid: ',
    ],
    [
      "Service on the node's address that kube-proxy answers",
      { classes: [atEdge], services: [balanced('203.0.113.9')] },
      'Valid: ',
    ],
    [
      'the same number over TCP',
      { classes: [taken], portMaps: [portMap({ port: 51820, protocol: 'TCP' })] },
      'Valid: ',
    ],
  ])('%s', (_, parts, expected) => {
    expect(verdictOn(parts)).toBe(expected);
  });
});

describe('of two mappings that want a port the older keeps it', () => {
  const older = portMap({}, { name: 'older', created: '2026-01-01T00:00:00Z' });
  const younger = portMap({}, { name: 'a-younger', created: '2026-01-02T00:00:00Z' });

  test('whatever the order of the list', () => {
    for (const portMaps of [
      [older, younger],
      [younger, older],
    ]) {
      expect(verdictOn({ portMaps }, 'games/older')).toBe('Valid: ');
      expect(verdictOn({ portMaps }, 'games/a-younger')).toBe(
        'PortConflict: port 3000/UDP on enp1s0 of edge-a is held by PortMap games/older (3000), which is older: ask for another',
      );
    }
  });

  test('of the same age the first by namespace and name', () => {
    const same = { ...younger, metadata: { ...younger.metadata, creationTimestamp: '2026-01-01T00:00:00Z' } };
    expect(verdictOn({ portMaps: [older, same] }, 'games/a-younger')).toBe('Valid: ');
    expect(verdictOn({ portMaps: [older, same] }, 'games/older')).toContain('PortConflict');
  });

  test('a range conflicts with a port inside it, another protocol or interface does not', () => {
    const range = portMap({ port: 2990, endPort: 3010 }, { name: 'range', created: '2026-01-01T00:00:00Z' });
    expect(verdictOn({ portMaps: [range, younger], endpointSlices: [] }, 'games/a-younger')).toContain('PortConflict');
    const tcp = portMap({ protocol: 'TCP' }, { name: 'a-younger' });
    expect(verdictOn({ portMaps: [older, tcp] }, 'games/a-younger')).toBe('Valid: ');
    const classes = [portMapClass({ nodes: { 'edge-a': { interfaces: ['enp1s0', 'wt0'] } } })];
    const [onMesh, onPublic] = [
      portMap({ interfaces: ['wt0'] }, { name: 'mesh' }),
      portMap({ interfaces: ['enp1s0'] }, { name: 'front' }),
    ];
    expect(verdictOn({ classes, portMaps: [onMesh, onPublic] }, 'games/mesh')).toBe('Valid: ');
    expect(verdictOn({ classes, portMaps: [onMesh, onPublic] }, 'games/front')).toBe('Valid: ');
  });

  test('across classes that share a node and interface, not across those that do not', () => {
    const intranet = portMapClass({ returnPath: { mode: 'None' } }, { name: 'intranet' });
    const elsewhere = portMapClass(
      { nodes: { 'edge-d': { interfaces: ['enp1s0'] } }, returnPath: { mode: 'None' } },
      { name: 'elsewhere' },
    );
    const classes = [portMapClass(), intranet, elsewhere];
    const other = (className: string) => portMap({ className }, { name: 'other', created: '2026-01-03T00:00:00Z' });
    expect(verdictOn({ classes, portMaps: [older, other('intranet')] }, 'games/other')).toContain('PortConflict');
    expect(verdictOn({ classes, portMaps: [older, other('elsewhere')] }, 'games/other')).toBe('Valid: ');
  });

  test('a refused mapping holds no port against others', () => {
    const refused = portMap({ interfaces: ['eth9'] }, { name: 'refused', created: '2025-01-01T00:00:00Z' });
    expect(verdictOn({ portMaps: [refused, younger] }, 'games/a-younger')).toBe('Valid: ');
  });
});
