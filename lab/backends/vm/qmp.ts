/** QEMU's control protocol: JSON, one message a line, over a unix socket. */
import net from 'node:net';
import { createInterface } from 'node:readline';
import { waitFor } from '../../wait.ts';

interface Waiting {
  command: string;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export class QmpClient {
  readonly #socket: net.Socket;
  readonly #machine: string;
  /** QEMU answers in the order it was asked. */
  readonly #waiting: Waiting[] = [];

  private constructor(machine: string, socket: net.Socket) {
    this.#machine = machine;
    this.#socket = socket;
    const gone = (): void => {
      for (const waiting of this.#waiting.splice(0))
        waiting.reject(new Error(`${machine}: QEMU ended before it answered ${waiting.command}`));
    };
    socket.on('close', gone);
    socket.on('error', gone);
    createInterface({ input: socket })
      .on('line', (line) => this.#receive(JSON.parse(line) as Record<string, unknown>))
      .on('error', () => undefined);
  }

  /**
   * Connects as soon as QEMU listens.
   * @param timeoutMs milliseconds until it is given up
   * @throws Error when QEMU does not listen in time
   */
  static async connect(machine: string, path: string, timeoutMs: number): Promise<QmpClient> {
    const socket = await waitFor(`QEMU of ${machine} to listen on ${path}`, () => open(path), {
      timeoutMs,
      intervalMs: 20,
    });
    const client = new QmpClient(machine, socket);
    await client.execute('qmp_capabilities');
    return client;
  }

  /** @throws Error with QEMU's words */
  execute(command: string, args: Record<string, unknown> = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ command, resolve, reject });
      this.#socket.write(`${JSON.stringify({ execute: command, arguments: args })}\n`);
    });
  }

  /**
   * Waits for a migration, in or out, to end.
   * @throws Error with its status when it failed
   */
  async migrated(timeoutMs: number): Promise<void> {
    await waitFor(
      `the state of ${this.#machine} to be moved`,
      async () => {
        const { status } = (await this.execute('query-migrate')) as { status?: string };
        if (status === 'completed') return true;
        if (status === 'failed' || status === 'cancelled') return Promise.reject(new Error(`QEMU says: ${status}`));
        return undefined;
      },
      { timeoutMs, intervalMs: 20 },
    );
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(message: Record<string, unknown>): void {
    // The greeting and events answer nobody.
    if (!('return' in message) && !('error' in message)) return;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) return;
    if ('error' in message) {
      const { desc } = message.error as { desc: string };
      waiting.reject(new Error(`${this.#machine}: QEMU refused ${waiting.command}: ${desc}`));
    } else waiting.resolve(message.return);
  }
}

function open(path: string): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
