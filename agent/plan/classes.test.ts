import { describe, expect, test } from 'vitest';
import type { ClusterSnapshot } from './snapshot.ts';
import { link, planOn, portMap, portMapClass, slice, snapshot } from './testing/snapshots.ts';

/** Ready conditions, from whichever node writes them. */
function conditions(parts: Partial<ClusterSnapshot>) {
  return snapshot(parts).nodes.flatMap((each) => planOn(each.metadata?.name ?? '', parts).classConditions);
}

describe('classes', () => {
  const reasonOf = (...classes: ReturnType<typeof portMapClass>[]): string[] =>
    conditions({ classes, portMaps: [] }).map((each) => `${each.className} ${each.condition.reason}`);
  const vxlan = (settings: object, name: string, created = '2026-01-05T00:00:00Z') =>
    portMapClass({ returnPath: { mode: 'Vxlan', vxlan: settings } }, { name, created });

  test('that are both left at the defaults collide; the older one stays valid', () => {
    expect(reasonOf(portMapClass(), vxlan({}, 'second'))).toEqual(['public Valid', 'second LinkRangeConflict']);
  });
  test('with their own VNI and subnet do not, although the ranges of VNIs run into one another', () => {
    expect(reasonOf(portMapClass(), vxlan({ vni: 4300, subnet: '169.254.79.0/24' }, 'second'))).toEqual([
      'public Valid',
      'second Valid',
    ]);
  });
  test.each([
    [{ subnet: '169.254.77.1/24' }, 'InvalidSubnet'],
    [{ subnet: '169.254.77.0/32' }, 'InvalidSubnet'],
    [{ port: 8472 }, 'VxlanPortConflict'],
  ])('%j: %s', (settings, reason) => {
    expect(reasonOf(vxlan(settings, 'only'))).toEqual([`only ${reason}`]);
  });
  test('whose nodes report one address', () => {
    const row = (name: string) => ({ name, ready: true, message: '', underlayAddress: '192.168.1.10' });
    expect(reasonOf(portMapClass({}, { status: { nodes: [row('edge-a'), row('edge-d')] } }))).toEqual([
      'public UnderlayAmbiguous',
    ]);
  });

  test('one whose nodes report one address still holds its subnet against a younger one', () => {
    const row = (name: string) => ({ name, ready: true, message: '', underlayAddress: '192.168.1.10' });
    const ambiguous = portMapClass({}, { status: { nodes: [row('edge-a'), row('edge-d')] } });
    expect(reasonOf(ambiguous, vxlan({}, 'second'))).toEqual(['public UnderlayAmbiguous', 'second LinkRangeConflict']);
  });

  test('give up the row of a node that has left the cluster, by one writer and at once', () => {
    const row = (name: string) => ({ name, ready: true, message: '' });
    const classes = [portMapClass({}, { status: { nodes: [row('edge-a'), row('worker-x')] } })];
    expect(conditions({ classes, portMaps: [] }).map((each) => each.goneNodes)).toEqual([['worker-x']]);
  });

  test('without links need none of this', () => {
    expect(reasonOf(portMapClass(), portMapClass({ returnPath: { mode: 'None' } }, { name: 'second' }))).toEqual([
      'public Valid',
      'second Valid',
    ]);
  });

  test("must leave the CNI's own tunnel port alone, whichever it is", () => {
    const reason = (cniConfig: Record<string, string>, port: number) =>
      conditions({ classes: [vxlan({ port }, 'only')], portMaps: [], cniConfig })[0]?.condition;
    expect(reason({ 'tunnel-port': '4790' }, 4790)).toMatchObject({
      reason: 'VxlanPortConflict',
      message: "spec.returnPath.vxlan.port 4790 is the CNI's own tunnel port: use another, such as 4791",
    });
    expect(reason({ 'tunnel-port': '4790' }, 8472)).toMatchObject({ reason: 'Valid' });
    expect(reason({ 'tunnel-protocol': 'geneve', 'tunnel-port': '0' }, 6081)).toMatchObject({
      reason: 'VxlanPortConflict',
    });
  });

  test('say that their links have run out, only when one more is wanted', () => {
    const full = portMapClass(
      { returnPath: { mode: 'Vxlan', vxlan: { subnet: '169.254.77.0/31' } } },
      { status: { links: [link('edge-a/worker-c', 0)] } },
    );
    const on = (node: string) =>
      conditions({ classes: [full], endpointSlices: [slice([{ node }])], portMaps: [portMap()] });
    expect(on('worker-b')[0]?.condition).toMatchObject({
      status: 'False',
      reason: 'SubnetExhausted',
      message:
        'all 1 link slots of spec.returnPath.vxlan.subnet 169.254.77.0/31 are taken: use a larger subnet, or another class; unused slots are free after 24 hours',
    });
    expect(on('worker-c')[0]?.condition).toMatchObject({ status: 'True', reason: 'Valid' });
    expect(on('edge-a')[0]?.condition).toMatchObject({ status: 'True', reason: 'Valid' });
  });
});
