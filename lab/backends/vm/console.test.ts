/** How far a boot has come, by what the machine printed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consoleSize, consoleTail, milestoneReached } from './console.ts';
import { guestFile } from './image/root.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kuport-console-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ['', 'nothing yet'],
  ['[    0.0] Linux version 6.12\r\n', 'kernel'],
  ['[    0.0] Linux\r\nlab: root mounted\r\n', 'root mounted'],
  ['lab: root mounted\r\nlab: init done\r\n', 'first process'],
  ['lab: root mounted\r\nlab: init done\r\nlab: ready\r\n', 'ready for ssh'],
])('%j is: %s', (text, milestone) => {
  const path = join(folder, 'console');
  writeFileSync(path, text);
  expect(milestoneReached(path)).toBe(milestone);
  expect(consoleSize(path)).toBe(Buffer.byteLength(text));
});

test('a machine that has no console yet has printed nothing', () => {
  const path = join(folder, 'none');
  expect([milestoneReached(path), consoleSize(path), consoleTail(path)]).toEqual(['nothing yet', 0, '']);
});

test('the lines waited for are those that the guest prints', () => {
  expect(guestFile('initrd-init')).toContain('echo "lab: root mounted" > /dev/console');
  expect(guestFile('init')).toContain('echo "lab: init done" > /dev/console');
  expect(guestFile('init')).toContain('echo "lab: ready" > /dev/console');
});
