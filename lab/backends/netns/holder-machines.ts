/** The machines of a lab as its holder keeps them: one ssh connection each, which outlives the drivers. */
import { readFileSync } from 'node:fs';
import { loadSsh } from '../ssh/load.ts';
import type { SshConnection } from '../ssh/ssh-connection.ts';
import type { MachineOpening } from './holder-protocol.ts';
import type { StationPipe } from './station-pipe.ts';

/** Bytes of a machine's console that an error shows. */
const lastWords = 1500;

export class Machines {
  readonly #connections = new Map<string, SshConnection>();
  /** Machine -> why its connection is gone, with its last words. */
  readonly #reasons = new Map<string, Promise<string>>();

  async open(opening: MachineOpening): Promise<Record<string, never>> {
    const { SshConnection: Connection } = await loadSsh();
    const connection = await Connection.open(opening);
    this.#connections.set(opening.machine, connection);
    const reason = connection.closed.then((error) => withLastWords(error.message, opening.consoleFile));
    this.#reasons.set(opening.machine, reason);
    return {};
  }

  async run(
    machine: string,
    command: string,
    inputFile?: string,
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    return this.#connection(machine).run(command, inputFile);
  }

  async shareSocket(machine: string, localPath: string, remotePath: string): Promise<Record<string, never>> {
    await this.#connection(machine).shareSocket(localPath, remotePath);
    return {};
  }

  /** Starts a station as a channel of the machine's connection. */
  async station(machine: string, command: string): Promise<StationPipe> {
    const connection = this.#connection(machine);
    const channel = await connection.channel(command);
    const gone = this.#reasons.get(machine) ?? connection.closed.then((error) => error.message);
    let exit = 'its channel closed';
    channel.on('exit', (code: number | null, signal?: string) => {
      exit = signal ?? `exit ${code}`;
    });
    const closed = new Promise<string>((resolve) => channel.on('close', () => resolve(exit)));
    return {
      input: channel,
      output: channel,
      stderr: channel.stderr,
      // When the connection goes, its channels close in the same moment; the machine's last words say more.
      ended: Promise.race([gone, closed.then(async (why) => (exit === 'its channel closed' ? await gone : why))]),
      kill: () => channel.close(),
    };
  }

  #connection(machine: string): SshConnection {
    const connection = this.#connections.get(machine);
    if (connection === undefined) throw new Error(`no machine ${machine} is connected to this lab`);
    return connection;
  }
}

function withLastWords(message: string, consoleFile: string | undefined): string {
  if (consoleFile === undefined) return message;
  try {
    const words = readFileSync(consoleFile, 'utf8').slice(-lastWords).trim();
    return words === '' ? `${message}; it printed nothing` : `${message}; its console ended with:\n${words}`;
  } catch {
    return message;
  }
}
