/** The driver's view of a station: typed requests over any pipe that carries lines. */
import type { StationMessage, StationOperation, StationOperations } from './protocol.ts';

/** A pipe of lines to a station: a child's standard streams, an ssh channel, a socket that several stations share. */
export interface StationTransport {
  send(line: string): void;
  /** Registers the one receiver of what the station says. */
  onLine(listener: (line: string) => void): void;
  /** Settles when the pipe is gone, with the reason when there is one. */
  readonly closed: Promise<Error | undefined>;
}

export type StationEvent = Extract<StationMessage, { event: string }>;

interface Waiting {
  operation: StationOperation;
  resolve(result: unknown): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/** A station refused or failed a request, or did not answer. */
export class StationError extends Error {
  override readonly name = 'StationError';
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

export class StationClient {
  readonly host: string;
  readonly #timeoutMs: number;
  readonly #transport: StationTransport;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(event: StationEvent) => void>();
  #nextId = 1;
  #gone: Error | undefined;

  /**
   * @param host name used in errors
   * @param timeoutMs milliseconds a request waits for its answer unless it says otherwise
   */
  constructor(host: string, transport: StationTransport, timeoutMs = 15_000) {
    this.host = host;
    this.#timeoutMs = timeoutMs;
    this.#transport = transport;
    transport.onLine((line) => this.#receive(JSON.parse(line) as StationMessage));
    void transport.closed.then((error) => {
      this.#gone = error ?? new Error('its pipe closed');
      for (const waiting of this.#waiting.values()) {
        clearTimeout(waiting.timer);
        waiting.reject(new StationError(`${host}: ${waiting.operation} was cut off: ${this.#gone.message}`));
      }
      this.#waiting.clear();
    });
  }

  /**
   * @throws StationError with the station's words, when the pipe is gone, or after timeoutMs
   */
  request<Operation extends StationOperation>(
    operation: Operation,
    params: StationOperations[Operation]['params'],
    { timeoutMs = this.#timeoutMs }: { timeoutMs?: number } = {},
  ): Promise<StationOperations[Operation]['result']> {
    if (this.#gone !== undefined) {
      return Promise.reject(new StationError(`${this.host}: cannot ${operation}: ${this.#gone.message}`));
    }
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new StationError(`${this.host}: its station did not answer ${operation} within ${timeoutMs} ms`));
      }, timeoutMs);
      this.#waiting.set(id, { operation, resolve: resolve as (result: unknown) => void, reject, timer });
      this.#transport.send(JSON.stringify({ id, operation, params }));
    });
  }

  onEvent(listener: (event: StationEvent) => void): void {
    this.#listeners.add(listener);
  }

  #receive(message: StationMessage): void {
    if ('event' in message) {
      for (const listener of this.#listeners) listener(message);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    this.#waiting.delete(message.id);
    clearTimeout(waiting.timer);
    if ('error' in message) {
      waiting.reject(
        new StationError(`${this.host}: ${waiting.operation}: ${message.error.message}`, message.error.code),
      );
    } else {
      waiting.resolve(message.result);
    }
  }
}
