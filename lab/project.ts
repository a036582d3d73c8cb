/** Where the project's own files lie, from a bundle in dist/ as well as from a source file under test. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

function findRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`no package.json above ${fileURLToPath(import.meta.url)}`);
    folder = parent;
  }
  return folder;
}

export const projectRoot = findRoot();

/** Path of a bundled program (see lab/build). */
export function program(name: 'holder' | 'ssh' | 'station' | 'agent' | 'apiserver'): string {
  return join(projectRoot, 'dist', `${name}.js`);
}
