/** The built station in a network namespace of its own, spoken to over its standard streams as a backend does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { program } from '../../project.ts';
import { StationClient } from '../client.ts';
import type { StationMessage } from '../protocol.ts';

export interface OpenStation {
  client: StationClient;
  /** A folder for what the station writes; goes with it. */
  folder: string;
  /** Sends a line as it is, whether or not it is a message. */
  sendLine(line: string): void;
  /** The next message that `wanted` accepts. */
  nextMessage(wanted: (message: StationMessage) => boolean): Promise<StationMessage>;
  /** Runs a shell script in the station's namespace and returns what it printed. @throws Error when it fails */
  shell(script: string): Promise<string>;
  /** Loads a ruleset for as long as `during` takes, then removes all rules of the namespace. */
  withRules<Result>(ruleset: string, during: () => Promise<Result>): Promise<Result>;
  /** Closes the station's standard input and waits until its process has ended; the folder stays. */
  endInput(): Promise<{ code: number | null; signal: string | null }>;
  /** Ends the station and removes its folder. */
  close(): Promise<void>;
}

const isRoot = process.getuid?.() === 0;

/** @throws Error when the station cannot be started here */
export async function openStation(name: string): Promise<OpenStation> {
  const folder = await mkdtemp(join(tmpdir(), 'kuport-station-'));
  const child = spawn(
    'unshare',
    [
      ...(isRoot ? [] : ['--user', '--map-root-user']),
      ...['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'station', process.execPath, program('station')],
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  const listeners = new Set<(line: string) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    for (const listener of listeners) listener(line);
  });
  const sendLine = (line: string): void => {
    child.stdin.write(`${line}\n`);
  };
  const nextMessage: OpenStation['nextMessage'] = (wanted) =>
    new Promise((resolve) => {
      const listener = (line: string): void => {
        const message = JSON.parse(line) as StationMessage;
        if (!wanted(message)) return;
        listeners.delete(listener);
        resolve(message);
      };
      listeners.add(listener);
    });
  const client = new StationClient(name, {
    send: sendLine,
    onLine: (listener) => listeners.add(listener),
    closed: ended.then(({ code, signal }) => new Error(`the station ended: ${signal ?? `exit ${code}`}`)),
  });
  const shell = async (script: string): Promise<string> => {
    const { code, stdout, stderr } = await client.request('exec', { argv: ['sh', '-c', script], timeoutMs: 5000 });
    if (code !== 0) throw new Error(`\`${script}\` exited ${code}: ${stderr}`);
    return stdout;
  };
  const endInput: OpenStation['endInput'] = () => {
    child.stdin.end();
    return ended;
  };
  await client.request('ping', {});
  return {
    ...{ client, folder, sendLine, nextMessage, shell, endInput },
    async withRules(ruleset, during) {
      await shell(`nft -f - <<'RULES'\n${ruleset}\nRULES`);
      try {
        return await during();
      } finally {
        await shell('nft flush ruleset');
      }
    },
    async close() {
      await endInput();
      await rm(folder, { recursive: true });
    },
  };
}

/** Whether a process of that id runs. One that has ended and that nobody has waited for does not. */
export async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat !== null && !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
}
