import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HeldPorts } from './held-ports.ts';

test('finds an overlap exactly where a search through all would', () => {
  const range = fc
    .tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 8 }))
    .map(([port, size]) => ({ port, endPort: port + size }));
  fc.assert(
    fc.property(fc.array(range, { maxLength: 30 }), range, (wanted, asked) => {
      const held = new HeldPorts<number>();
      const taken: { port: number; endPort: number }[] = [];
      for (const [index, each] of wanted.entries()) {
        const overlaps = taken.some((other) => other.port <= each.endPort && each.port <= other.endPort);
        expect(held.find('UDP/edge-a/eth0', each) !== undefined).toBe(overlaps);
        if (overlaps) continue;
        held.add('UDP/edge-a/eth0', each, index);
        taken.push(each);
      }
      const overlaps = taken.some((other) => other.port <= asked.endPort && asked.port <= other.endPort);
      expect(held.find('UDP/edge-a/eth0', asked) !== undefined).toBe(overlaps);
      expect(held.find('TCP/edge-a/eth0', asked)).toBeUndefined();
    }),
  );
});
