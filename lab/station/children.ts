/** Commands that run to their end and processes that go on; none outlives the station. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { StationOperations } from './protocol.ts';

type Exec = StationOperations['exec'];
type Spawn = StationOperations['spawn'];

/** More than this from one command is a mistake, not a result: 16 MiB each of output and errors. */
const outputLimit = 16 * 1024 * 1024;

const running = new Map<number, ChildProcess>();

/**
 * Each child leads a process group of its own, so that a shell's children go with it. A group outlives its leader while
 * a command's background runs; its number is not given to another process before that.
 */
const groups = new Set<number>();

/** @returns false when nobody is left in the group */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    // Not permitted: somebody is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** An ended group's number may be taken by another one: forgotten at every start and end of a child. */
function forgetEndedGroups(): void {
  for (const group of groups) if (!running.has(group) && !signalGroup(group, 0)) groups.delete(group);
}

function start(
  argv: readonly string[],
  env: Record<string, string> | undefined,
  stdio: 'pipe' | ['ignore', number, number],
): ChildProcess {
  const [program, ...args] = argv;
  if (program === undefined) throw new Error('an empty command');
  const child = spawn(program, args, {
    stdio,
    detached: true,
    env: env === undefined ? process.env : { ...process.env, ...env },
  });
  forgetEndedGroups();
  const { pid } = child;
  if (pid === undefined) return child;
  running.set(pid, child);
  groups.add(pid);
  child.once('exit', () => {
    running.delete(pid);
    forgetEndedGroups();
  });
  return child;
}

/** @throws Error when the program cannot be started, runs longer than timeoutMs or prints more than 16 MiB */
export function exec({ argv, input, timeoutMs, env }: Exec['params']): Promise<Exec['result']> {
  const begin = performance.now();
  return new Promise((resolve, reject) => {
    const child = start(argv, env, 'pipe');
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    const sizes = { stdout: 0, stderr: 0 };
    let failure: Error | undefined;
    const abort = (why: string): void => {
      failure = new Error(`\`${argv.join(' ')}\` ${why}`);
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
      // A daemon that left the group may hold the other end: its output is not waited for.
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    const timer = setTimeout(() => abort(`did not end within ${timeoutMs} ms and was killed`), timeoutMs);
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.on('data', (chunk: Buffer) => {
        sizes[name] += chunk.length;
        if (sizes[name] > outputLimit) abort(`printed more than ${outputLimit} bytes and was killed`);
        else output[name].push(chunk);
      });
    }
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`cannot run \`${argv.join(' ')}\`: ${error.message}`));
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (failure !== undefined) {
        reject(failure);
        return;
      }
      resolve({
        code: code ?? 128 + signalNumber(signal),
        stdout: Buffer.concat(output.stdout).toString(),
        stderr: Buffer.concat(output.stderr).toString(),
        milliseconds: performance.now() - begin,
      });
    });
    // A command that does not read its input closes the pipe; its exit status tells what that means.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input ?? '');
  });
}

function signalNumber(signal: NodeJS.Signals | null): number {
  return signal === 'SIGKILL' ? 9 : signal === 'SIGTERM' ? 15 : signal === 'SIGINT' ? 2 : 1;
}

/**
 * Starts a process that goes on.
 * @param ended told once, when it has ended
 */
export function spawnProcess(
  { argv, logFile, env }: Spawn['params'],
  ended: (end: { pid: number; code: number | null; signal: string | null }) => void,
): Promise<Spawn['result']> {
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'a');
  return new Promise((resolve, reject) => {
    const child = start(argv, env, ['ignore', log, log]);
    child.once('spawn', () => {
      closeSync(log);
      resolve({ pid: child.pid ?? 0 });
    });
    child.once('error', (error) => {
      closeSync(log);
      reject(new Error(`cannot start \`${argv.join(' ')}\`: ${error.message}`));
    });
    child.once('exit', (code, signal) => ended({ pid: child.pid ?? 0, code, signal }));
  });
}

/** Signals one of this station's processes, and only the process itself. @throws Error when it is not one of them. */
export function signalProcess({ pid, signal }: StationOperations['kill']['params']): void {
  if (!running.has(pid)) throw new Error(`${pid} is no process of this station, or it has ended`);
  process.kill(pid, signal as NodeJS.Signals);
}

/** For a driver that did not start the process itself and so hears of no exit. */
export async function awaitEnd({
  pid,
}: StationOperations['awaitEnd']['params']): Promise<StationOperations['awaitEnd']['result']> {
  const child = running.get(pid);
  if (child === undefined) return { code: null, signal: null };
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
}

/** Ends everything this station started. */
export function killAll(): void {
  for (const group of groups) signalGroup(group, 'SIGKILL');
}
