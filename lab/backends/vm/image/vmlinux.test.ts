/** Plain kernels out of compressed ones, with each way Debian has compressed them. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { extractVmlinux } from './vmlinux.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kuport-vmlinux-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const kernel = Buffer.concat([Buffer.from('\x7fELF', 'latin1'), randomBytes(50_000), Buffer.alloc(50_000)]);

/** As a real one: code before the stream, something that only looks like a stream, and a size after it. */
async function compressed(tool: string, ...args: string[]): Promise<string> {
  const { stdout } = await execa(tool, args, { input: kernel, encoding: 'buffer' });
  const lookalike = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), randomBytes(100)]);
  const path = join(folder, `vmlinuz-${tool}`);
  writeFileSync(path, Buffer.concat([randomBytes(3000), lookalike, Buffer.from(stdout), randomBytes(4)]));
  return path;
}

test.each([
  ['zstd', ['-c']],
  ['lz4', ['-l', '-c']],
  ['xz', ['--check=crc32', '-c']],
  ['gzip', ['-c']],
])('packed with %s', async (tool, args) => {
  const plain = join(folder, 'vmlinux');
  await extractVmlinux(await compressed(tool, ...args), plain);
  expect(readFileSync(plain).equals(kernel)).toBe(true);
});

test('a file that is no kernel is an error that names it', async () => {
  const path = join(folder, 'noise');
  writeFileSync(path, randomBytes(2000));
  await expect(extractVmlinux(path, join(folder, 'never'))).rejects.toThrow(
    `${path}: no compressed kernel found in it (2000 bytes)`,
  );
});
