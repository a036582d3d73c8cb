/**
 * What must be run when a lab ends that has made something outside its own processes: kept as a file in the lab's folder,
 * so that it can still be run when holder and driver were killed.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface OutsideCommand {
  argv: readonly [string, ...string[]];
  /** Added to the environment of whoever runs it. */
  env: Readonly<Record<string, string>>;
}

/** A command that still has work to do in another process (one that is being killed) is tried again. */
const attempts = 5;
const pauseMs = 3000;

function file(folder: string): string {
  return join(folder, 'last-command.json');
}

export function writeLastCommand(folder: string, command: OutsideCommand): void {
  writeFileSync(file(folder), JSON.stringify(command), { mode: 0o600 });
}

export function hasLastCommand(folder: string): boolean {
  return existsSync(file(folder));
}

/**
 * Runs what a lab's folder says must be run at its end, if it says so.
 * @throws Error with the command and its words when it fails again and again; the file stays then
 */
export async function runLastCommand(folder: string): Promise<void> {
  if (!hasLastCommand(folder)) return;
  const { argv, env } = JSON.parse(readFileSync(file(folder), 'utf8')) as OutsideCommand;
  const [program, ...args] = argv;
  for (let attempt = 1; ; attempt++) {
    const failure = await run(program, args, { ...process.env, ...env });
    if (failure === null) break;
    if (attempt === attempts) {
      throw new Error(
        `what the lab in ${folder} made could not be removed: \`${argv.join(' ')}\` failed ${attempts} times:\n${failure}`,
      );
    }
    await sleep(pauseMs);
  }
  rmSync(file(folder));
}

/** @returns what it said when it failed, else null */
function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, args, { env }, (error, stdout, stderr) => {
      resolve(error === null ? null : `${error.message}\n${stdout}\n${stderr}`.trim());
    });
  });
}
