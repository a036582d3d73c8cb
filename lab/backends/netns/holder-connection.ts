/** The driver's end of the lab's unix socket: one connection, one request channel to the holder and one to every station. */
import net from 'node:net';
import { createInterface } from 'node:readline';
import type { StationTransport } from '../../station/client.ts';
import type { Envelope, HolderOperation, HolderOperations } from './holder-protocol.ts';

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export class HolderConnection {
  readonly closed: Promise<Error | undefined>;
  readonly #socket: net.Socket;
  readonly #listeners = new Map<string, (line: string) => void>();
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #gone: Error | undefined;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    let failure: Error | undefined;
    socket.on('error', (error) => {
      failure = error;
    });
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        const error = failure ?? new Error('the lab has ended');
        this.#gone = error;
        for (const waiting of this.#waiting.values()) waiting.reject(error);
        this.#waiting.clear();
        resolve(error);
      });
    });
    createInterface({ input: socket })
      .on('line', (line) => this.#receive(JSON.parse(line) as Envelope))
      // readline passes on its input's errors; unheard, a holder that is killed would kill its driver.
      .on('error', () => undefined);
  }

  /** @throws the connection's own error: ENOENT or ECONNREFUSED when no holder listens there. */
  static open(socketPath: string): Promise<HolderConnection> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(socketPath);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new HolderConnection(socket));
      });
    });
  }

  /** Asks the holder itself. @throws Error with the holder's words, or when the lab ends before it answers. */
  request<Operation extends HolderOperation>(
    operation: Operation,
    params: HolderOperations[Operation]['params'],
  ): Promise<HolderOperations[Operation]['result']> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (result: unknown) => void, reject });
      this.#send({ host: '', message: { id, operation, params } });
    });
  }

  /** The pipe to one host's station. */
  stationTransport(host: string): StationTransport {
    return {
      send: (line) => this.#send({ host, message: JSON.parse(line) as unknown }),
      onLine: (listener) => {
        this.#listeners.set(host, listener);
      },
      closed: this.closed,
    };
  }

  close(): void {
    this.#socket.destroy();
  }

  #send(envelope: Envelope): void {
    this.#socket.write(`${JSON.stringify(envelope)}\n`);
  }

  #receive({ host, message }: Envelope): void {
    if (host !== '') {
      this.#listeners.get(host)?.(JSON.stringify(message));
      return;
    }
    const { id, result, error } = message as { id: number; result?: unknown; error?: { message: string } };
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    if (error === undefined) waiting.resolve(result);
    else waiting.reject(new Error(error.message));
  }
}
