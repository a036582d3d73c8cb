/** Images between runs: whole or not at all, rebuilt for a reason that is said. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildImage, imageFolder, reasonToBuild, sweepHalfBuilt } from './cache.ts';

const usual = process.env.KUPORT_CACHE_FOLDER;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kuport-cache-'));
  process.env.KUPORT_CACHE_FOLDER = folder;
});
afterEach(() => {
  if (usual === undefined) delete process.env.KUPORT_CACHE_FOLDER;
  else process.env.KUPORT_CACHE_FOLDER = usual;
  rmSync(folder, { recursive: true });
});

const build = (inputs: Record<string, string>) =>
  buildImage('root', inputs, async (working) => writeFileSync(join(working, 'disk'), JSON.stringify(inputs)));

test('an image that is there is not built again', async () => {
  const inputs = { suite: 'trixie', packages: 'a b' };
  expect(reasonToBuild('root', inputs)).toBe('there is none yet');
  expect(await build(inputs)).toBe(imageFolder('root', inputs));
  expect(reasonToBuild('root', inputs)).toBeNull();
});

test('a changed input is named with what it was and is', async () => {
  await build({ suite: 'trixie', packages: 'a b' });
  expect(reasonToBuild('root', { suite: 'trixie', packages: 'a b c' })).toBe('packages changed from a b to a b c');
  expect(reasonToBuild('root', { suite: 'trixie' })).toBe('packages changed from a b to nothing');
});

test('a new image takes the place of the old one of its kind, and of no other', async () => {
  await build({ suite: 'trixie' });
  await buildImage('kernel-6.1', { suite: 'bookworm' }, async () => undefined);
  const now = await build({ suite: 'forky' });
  const kernel = imageFolder('kernel-6.1', { suite: 'bookworm' });
  expect(readdirSync(folder).sort()).toEqual([kernel, now].map((path) => path.slice(folder.length + 1)).sort());
});

test('a build that fails leaves nothing and the old image in place', async () => {
  const old = await build({ suite: 'trixie' });
  const failing = buildImage('root', { suite: 'forky' }, async (working) => {
    writeFileSync(join(working, 'half'), '');
    throw new Error('no space left');
  });
  await expect(failing).rejects.toThrow('no space left');
  expect(readdirSync(folder)).toEqual([old.slice(folder.length + 1)]);
  expect(reasonToBuild('root', { suite: 'forky' })).toBe('suite changed from trixie to forky');
});

test('what a killed build left is no image, and is swept; a build under way is not', () => {
  const { pid: dead } = spawnSync('true');
  const image = imageFolder('root', { suite: 'trixie' });
  mkdirSync(`${image}.building-${dead}`);
  mkdirSync(`${image}.building-${process.pid}`);
  expect(reasonToBuild('root', { suite: 'trixie' })).toBe('there is none yet');
  sweepHalfBuilt();
  expect(existsSync(`${image}.building-${dead}`)).toBe(false);
  expect(existsSync(`${image}.building-${process.pid}`)).toBe(true);
});

test('an image folder without its list of inputs is not taken for an image', () => {
  const image = imageFolder('root', { suite: 'trixie' });
  mkdirSync(image);
  writeFileSync(join(image, 'disk'), 'half');
  expect(reasonToBuild('root', { suite: 'trixie' })).toBe('there is none yet');
});
