import { expect, test } from 'vitest';
import type { PortMap } from '../api/types.ts';
import { link, planOn, portMap, portMapClass, slice, statusesOf } from './testing/snapshots.ts';

const classes = [
  portMapClass(
    { nodes: { 'edge-a': { interfaces: ['enp1s0', 'wt0'] } } },
    { status: { links: [link('edge-a/worker-b', 0)] } },
  ),
];
const front = portMap({ interfaces: ['enp1s0'], endPort: 3010 }, { name: 'front', created: '2026-01-01T00:00:00Z' });
const mesh = portMap({ interfaces: ['wt0'], port: 3005 }, { name: 'a-mesh', created: '2026-01-02T00:00:00Z' });

const programmed = (portMaps: PortMap[], on = 'worker-b'): Record<string, string> =>
  Object.fromEntries(
    statusesOf({ classes, portMaps, endpointSlices: on === '' ? [] : [{ ...slice([{ node: on }]) }] }).map(
      ({ name, conditions }) => [name, `${conditions[1]?.reason}: ${conditions[1]?.message}`],
    ),
  );

test('one port on two interfaces: over a link the older mapping has it, the younger is told', () => {
  const single = { ...front, spec: { ...front.spec, port: 3005, endPort: 3005 } };
  for (const portMaps of [
    [single, mesh],
    [mesh, single],
  ]) {
    expect(programmed(portMaps)).toEqual({
      front: 'Programmed: ',
      'a-mesh':
        'ReturnPathUnavailable: port 3005/UDP: the link from edge-a to worker-b carries 3005 for PortMap games/front, which is older: ask for another port, or place the pod on edge-a',
    });
    for (const name of ['edge-a', 'worker-b']) {
      const { deliveries } = planOn(name, { classes, portMaps });
      expect(deliveries.map((each) => each.portMap)).toEqual(['games/front']);
    }
  }
});

test('with the pod on the accepting node there is no link to share', () => {
  const single = { ...front, spec: { ...front.spec, port: 3005, endPort: 3005 } };
  expect(programmed([single, mesh], 'edge-a')).toEqual({ front: 'Programmed: ', 'a-mesh': 'Programmed: ' });
});

test('other ports and the other protocol pass beside one another', () => {
  expect(programmed([front, { ...mesh, spec: { ...mesh.spec, port: 3011 } }])).toEqual({
    front: 'Programmed: ',
    'a-mesh': 'Programmed: ',
  });
});
