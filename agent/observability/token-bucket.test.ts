import { expect, test } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

test('a burst, then one per interval, and never more than the burst', () => {
  const bucket = new TokenBucket(2, 1000, 0);
  expect([0, 0, 0, 999].map((at) => bucket.take(at))).toEqual([true, true, false, false]);
  expect([1000, 1000].map((at) => bucket.take(at))).toEqual([true, false]);
  expect([100_000, 100_000, 100_000].map((at) => bucket.take(at))).toEqual([true, true, false]);
});
