/** `make golden`: rewrites the golden files from the code; the review of the difference is the point. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenCases, goldenFolder, renderCase } from './golden-case.ts';

let files = 0;
for (const name of goldenCases()) {
  const folder = join(goldenFolder, name);
  for (const file of readdirSync(folder)) if (file !== 'manifests.yaml') rmSync(join(folder, file));
  for (const [file, text] of renderCase(name)) {
    writeFileSync(join(folder, file), text);
    files++;
  }
}
process.stdout.write(`${goldenCases().length} cases, ${files} files\n`);
