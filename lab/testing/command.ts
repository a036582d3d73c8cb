/** Runs the `lab` command as a user does, for tests. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../project.ts';

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export function runLab(
  args: readonly string[],
  options: { input?: string; env?: NodeJS.ProcessEnv } = {},
): CommandResult {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(projectRoot, 'dist', 'lab.js'), ...args], {
    encoding: 'utf8',
    timeout: 60_000,
    ...(options.input === undefined ? {} : { input: options.input }),
    env: { ...process.env, NO_COLOR: '1', ...options.env },
  });
  return { code: status, stdout, stderr };
}
