import { expect, test } from 'vitest';
import { checkMemory } from './memory.ts';

const five = ['control', 'edge-a', 'edge-d', 'worker-b', 'worker-c'];

test('enough memory is no error', () => {
  expect(() => checkMemory(five, 10_000)).not.toThrow();
});

test('too little says how much is needed, how much there is, and which machines would fit', () => {
  expect(() => checkMemory(five, 1200)).toThrow(
    '5 machines (control, edge-a, edge-d, worker-b, worker-c) need 2420 MiB of memory, and 1200 MiB are available: free some, or make only 2 of them machines: --machines control,edge-a',
  );
});

test('not even one', () => {
  expect(() => checkMemory(['edge-a'], 100)).toThrow(/: free some, or use the namespace backend$/);
});
