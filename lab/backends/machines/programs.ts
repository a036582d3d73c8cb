/** The project's programs as they travel to a machine. */
import { join } from 'node:path';
import { execa } from 'execa';
import { projectRoot } from '../../project.ts';

/** What runs on machines, as one file. @returns its path */
export async function packPrograms(folder: string): Promise<string> {
  const file = join(folder, 'programs.tar.gz');
  const programs = ['agent', 'station', 'apiserver'].map((name) => `dist/${name}.js`);
  await execa('tar', ['-c', '-f', file, '-I', 'gzip -1', '-C', projectRoot, 'package.json', 'crds', ...programs]);
  return file;
}
