import { expect, test } from 'vitest';
import { idleSeconds } from './idle-timeout.ts';

test.each([
  ['30s', 30],
  ['90s', 90],
  ['1h30m', 5400],
  ['2m5s', 125],
  ['168h', 604_800],
  [undefined, null],
  ['', null],
  ['0s', null],
  ['1.5h', null],
  ['soon', null],
])('%s is %s', (text, seconds) => {
  expect(idleSeconds(text)).toBe(seconds);
});
