/** A process in a namespace of the lab with this terminal's own input and output. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readHolderRecord, stateFolder } from './state-folder.ts';

/**
 * The host's number of the lab's PID 1, from which all its namespaces are entered.
 * @throws Error when the lab is ending
 */
function firstProcess(name: string): number {
  const record = readHolderRecord(stateFolder(name));
  if (record === null) throw new Error(`lab "${name}" is not up`);
  const [child] = readFileSync(`/proc/${record.pid}/task/${record.pid}/children`, 'utf8').trim().split(' ');
  if (child === undefined || child === '') throw new Error(`lab "${name}" is ending`);
  return Number(child);
}

/**
 * @param pid of a process in the namespaces to enter, as the lab numbers it
 * @returns the command's exit status
 */
export async function enterNamespace(lab: string, host: string, pid: number, argv: readonly string[]): Promise<number> {
  const inUser = process.getuid?.() === 0 ? [] : ['--user', '--preserve-credentials'];
  // Into the lab first, whose /proc knows the station by its number there, then to the station's own namespaces.
  const outer = ['--target', String(firstProcess(lab)), ...inUser, '--mount', '--pid', '--net'];
  const inner = ['nsenter', '--target', String(pid), '--mount', '--net', '--uts'];
  const child = spawn('nsenter', [...outer, ...inner, ...argv], {
    stdio: 'inherit',
    env: { ...process.env, PS1: `${host}:\\w# ` },
  });
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new Error(`cannot run nsenter: ${error.message}`)));
    child.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
  });
}
