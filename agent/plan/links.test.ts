import { describe, expect, test } from 'vitest';
import { freeSlot, linkDevice, slotCount, slotSubnet } from './links.ts';
import { link, node, now, planOn, portMapClass, snapshot } from './testing/snapshots.ts';

const claimed = portMapClass({}, { status: { links: [link('edge-a/worker-b', 3)] } });

describe('slots', () => {
  test('the lowest free one, passing over VNIs that others hold', () => {
    const taken = portMapClass({}, { status: { links: [link('a/b', 0), link('a/c', 2)] } });
    expect(freeSlot(taken)).toBe(1);
    expect(freeSlot(taken, [4243])).toBe(3);
  });

  test('none left in a full subnet', () => {
    const full = portMapClass(
      { returnPath: { mode: 'Vxlan', vxlan: { subnet: '169.254.77.0/30' } } },
      { status: { links: [link('a/b', 0), link('a/c', 1)] } },
    );
    expect(freeSlot(full)).toBeNull();
  });

  test('the last /31 of the default subnet', () => {
    expect(slotSubnet(portMapClass(), 127)).toEqual({
      lower: '169.254.77.254',
      upper: '169.254.77.255',
      text: '169.254.77.254/31',
    });
  });

  test('are given back 24 hours after their last use, and not before', () => {
    const unused = (hours: number) => {
      const unusedSince = new Date(now - hours * 3_600_000).toISOString();
      const classes = [portMapClass({}, { status: { links: [{ ...link('edge-a/worker-c', 0), unusedSince }] } })];
      return planOn('edge-a', { classes }).linkChanges.map((each) => each.change);
    };
    expect(unused(23.9)).toEqual([]);
    expect(unused(24)).toEqual(['free']);
  });

  test('are marked unused when no mapping needs the link, and used again', () => {
    const gone = { classes: [claimed], portMaps: [] };
    expect(planOn('edge-a', gone).linkChanges).toEqual([
      { className: 'public', key: 'edge-a/worker-b', change: 'unused' },
    ]);
    expect(planOn('worker-b', gone).linkChanges).toEqual([]);
    const again = portMapClass(
      {},
      { status: { links: [{ ...link('edge-a/worker-b', 0), unusedSince: '2026-01-31T23:00:00Z' }] } },
    );
    expect(planOn('edge-a', { classes: [again] }).linkChanges).toEqual([
      { className: 'public', key: 'edge-a/worker-b', change: 'used' },
    ]);
  });

  test('of a link both of whose nodes are gone, or down, are kept by another', () => {
    const classes = [portMapClass({}, { status: { links: [link('gone-a/gone-b', 0)] } })];
    const keepers = (nodes: ReturnType<typeof node>[]) =>
      nodes
        .map((each) => each.metadata?.name ?? '')
        .filter((name) => planOn(name, { classes, nodes, portMaps: [] }).linkChanges.length > 0);
    expect(keepers(snapshot().nodes.slice())).toEqual(['edge-a']);
    expect(keepers([node('edge-a', false), node('worker-b')])).toEqual(['worker-b']);
    const down = portMapClass({}, { status: { links: [link('edge-a/worker-b', 0)] } });
    const nodes = [node('edge-a', false), node('worker-b')];
    expect(planOn('worker-b', { classes: [down], nodes, portMaps: [] }).linkChanges).toHaveLength(1);
    expect(planOn('edge-a', { classes: [down], nodes, portMaps: [] }).linkChanges).toEqual([]);
  });

  test('end where VNIs do', () => {
    const last = (vni: number) => slotCount(portMapClass({ returnPath: { mode: 'Vxlan', vxlan: { vni } } }));
    expect(last(4242)).toBe(128);
    expect(last(2 ** 24 - 3)).toBe(3);
  });
});

test('both ends name their device without asking, and two classes over one pair have two', () => {
  // printf 'public\nworker-b' | sha256sum
  expect(linkDevice('public', 'worker-b')).toBe('kup-312761d2');
  expect(linkDevice('intranet', 'worker-b')).not.toBe(linkDevice('public', 'worker-b'));
});
