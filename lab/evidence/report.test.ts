import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readResults, writeReport } from './report.ts';
import { EXAMPLE_RUN } from './testing/example-run.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kuport-report-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('writes three files and nothing else, and reads the results back', async () => {
  const written = await writeReport(join(folder, 'out/report'), EXAMPLE_RUN);
  expect((await readdir(join(folder, 'out/report'))).sort()).toEqual(['index.html', 'junit.xml', 'results.json']);
  const results = await readResults(written.results);
  expect(results).toMatchObject({ version: 1, summary: { passed: 3, failed: 1, error: 1, skipped: 1, ok: false } });
  expect(results.scenarios).toEqual(EXAMPLE_RUN.scenarios);
});

it.each([
  ['{"version": 99}', /other\.json: written in version 99, this lab reads version 1/],
  ['null', /written in version undefined/],
  ['{"version', /other\.json: not JSON/],
])('refuses results it would misread: %s', async (text, message) => {
  await writeFile(join(folder, 'other.json'), text);
  await expect(readResults(join(folder, 'other.json'))).rejects.toThrow(message);
});

it('says what to do when there are no results', async () => {
  await expect(readResults(join(folder, 'none.json'))).rejects.toThrow(
    /none\.json: no results yet: run `make scenarios`/,
  );
});
