/**
 * A throw-away network namespace for this folder's tests: enough of a Host to run commands, with the kernel's own
 * nft, ip and conntrack behind it. Not root? Then a user namespace comes with it.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { type Host, HostCommandError } from '../../backends/host.ts';

export interface NamespaceHost extends Pick<Host, 'name' | 'exec' | 'readLog'> {
  /** Ends the namespace and every process in it. */
  close(): Promise<void>;
}

/** @throws Error when the namespace is not there after 5 s. */
export async function openNamespaceHost(name: string, logs: Record<string, string> = {}): Promise<NamespaceHost> {
  const isRoot = process.getuid?.() === 0;
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child'];
  const holder = spawn(
    'unshare',
    [...(isRoot ? [] : ['--user', '--map-root-user']), ...namespaces, 'sleep', 'infinity'],
    {
      stdio: 'ignore',
    },
  );
  const ended = new Promise<void>((resolve) => holder.once('exit', () => resolve()));
  const inside = await firstChild(holder.pid ?? 0);
  const enter = ['-t', inside, '-n', '-m', '-p', ...(isRoot ? [] : ['-U', '--preserve-credentials'])];

  const host: NamespaceHost = {
    name,
    async exec(argv, options = {}) {
      const started = performance.now();
      const result = await execa('nsenter', [...enter, ...argv], {
        input: options.input ?? '',
        timeout: options.timeoutMs ?? 10_000,
        env: options.env ?? {},
        reject: false,
        stripFinalNewline: false,
      });
      const outcome = {
        code: result.exitCode ?? 128,
        stdout: result.stdout,
        stderr: result.stderr,
        milliseconds: performance.now() - started,
      };
      if (outcome.code !== 0 && !options.allowFailure) throw new HostCommandError(name, argv, outcome, options.input);
      return outcome;
    },
    async readLog(logName) {
      const text = logs[logName];
      if (text === undefined) throw new Error(`${name}: no log ${logName}`);
      return text;
    },
    async close() {
      holder.kill('SIGKILL');
      await ended;
    },
  };
  await host.exec(['ip', 'link', 'set', 'lo', 'up']);
  return host;
}

async function firstChild(pid: number): Promise<string> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
    const child = children.trim().split(' ')[0];
    // The child exists before it has become `sleep`, but its namespaces are made before it is forked.
    if (child) return child;
    await sleep(10);
  }
  throw new Error(`unshare (pid ${pid}) made no process within 5 s: are namespaces forbidden here?`);
}
