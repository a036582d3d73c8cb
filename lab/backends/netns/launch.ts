/** Starts the holder in its private namespaces and connects to it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { program } from '../../project.ts';
import { HolderConnection } from './holder-connection.ts';
import { createStateFolder, writeHolderRecord } from './state-folder.ts';

export interface LaunchedHolder {
  connection: HolderConnection;
  folder: string;
  /** While this process lives and has not let go, the lab ends with it. */
  process: ChildProcess;
  /** Lets the lab outlive this process. */
  letGo(): Promise<void>;
}

/**
 * Namespaces first, then what every lab has: an empty /run (so that named network namespaces, wireguard-go's sockets and
 * iptables' lock are the lab's own) and a /proc of its own PIDs. The shell stays as PID 1 to reap orphans, which Node
 * does not do.
 */
const prelude = [
  'mount -t tmpfs tmpfs /run',
  'mkdir -p /run/netns /run/wireguard /run/lab',
  'ip link set lo up',
  '"$@"',
].join(' && ');

/** The command line that becomes a holder. */
function holderCommand(folder: string, outside: boolean): [string, ...string[]] {
  const holder: [string, ...string[]] = [process.execPath, program('holder'), folder, program('station')];
  if (outside) return holder;
  const asRoot = process.getuid?.() === 0;
  return [
    'unshare',
    ...(asRoot ? [] : ['--user', '--map-root-user']),
    ...['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'],
    ...['sh', '-c', prelude, 'holder', ...holder],
  ];
}

/**
 * @param name of the lab
 * @param outside all hosts of the lab are on machines that others run: it needs no namespaces here, and reaches them by
 *   this machine's own network
 * @throws LabExistsError; Error with the holder's own log when it does not come up.
 */
export async function launchHolder(name: string, outside = false): Promise<LaunchedHolder> {
  const folder = createStateFolder(name);
  const log = openSync(join(folder, 'holder.log'), 'a');
  const [command, ...args] = holderCommand(folder, outside);
  // A session of its own: Ctrl-C in the terminal is the driver's to handle, not the holder's.
  const child = spawn(command, args, { stdio: ['pipe', log, log], detached: true });
  let ended: string | null = null;
  child.on('error', (error) => {
    ended = error.message;
  });
  child.on('exit', (code, signal) => {
    ended = signal ?? `exit ${code}`;
  });
  if (child.pid !== undefined) writeHolderRecord(folder, child.pid);
  const interrupted = outside ? endWhenInterrupted(child) : () => undefined;
  const deadline = Date.now() + 10_000;
  for (;;) {
    try {
      const connection = await HolderConnection.open(join(folder, 'holder.sock'));
      return {
        connection,
        folder,
        process: child,
        letGo: async () => {
          interrupted();
          await connection.request('detach', {});
          child.stdin?.destroy();
          child.unref();
        },
      };
    } catch (error) {
      if (ended === null && Date.now() < deadline) {
        await sleep(5);
        continue;
      }
      const said = readFileSync(join(folder, 'holder.log'), 'utf8').trim();
      child.stdin?.destroy();
      rmSync(folder, { recursive: true, force: true });
      throw new Error(
        `cannot start the lab's holder: ${command} ended (${ended ?? 'no answer in 10 s'}): ${said || (error as Error).message}`,
      );
    }
  }
}

/**
 * What a holder ends outside takes seconds: whoever presses Ctrl-C waits for it and sees that it is done. Pressed again, this
 * process ends and the holder goes on with it.
 * @returns what undoes this
 */
function endWhenInterrupted(holder: ChildProcess): () => void {
  const end = (): void => {
    process.stderr.write('\ninterrupted: removing what the lab has made\n');
    holder.once('exit', (code) => {
      process.stderr.write(code === 0 ? 'nothing is left\n' : 'not all of it is gone: `lab gc` tries again\n');
      process.exit(130);
    });
    holder.stdin?.destroy();
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  return () => {
    process.off('SIGINT', end);
    process.off('SIGTERM', end);
  };
}
