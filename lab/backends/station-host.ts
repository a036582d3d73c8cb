/** A host whose every word goes through its station. */
import type { StationClient } from '../station/client.ts';
import {
  type ExecOptions,
  type ExecResult,
  type Host,
  HostCommandError,
  type HostProcess,
  type HostRole,
  type Installation,
} from './host.ts';

/** Where a host keeps what its processes print; private to the lab. */
export const logFolder = '/run/lab/logs';

export function logPath(host: string, logName: string): string {
  return `${logFolder}/${host}/${logName}.log`;
}

export class StationHost implements Host {
  readonly name: string;
  readonly role: HostRole;
  readonly station: StationClient;
  readonly installation: Installation;
  readonly #execMs: number;

  /** @param execMs milliseconds a command may take unless it says otherwise */
  constructor(name: string, role: HostRole, station: StationClient, installation: Installation, execMs = 10_000) {
    this.name = name;
    this.role = role;
    this.station = station;
    this.installation = installation;
    this.#execMs = execMs;
  }

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    const timeoutMs = options.timeoutMs ?? this.#execMs;
    const result = await this.station.request(
      'exec',
      {
        argv: [...argv],
        timeoutMs,
        ...(options.input === undefined ? {} : { input: options.input }),
        ...(options.env === undefined ? {} : { env: options.env }),
      },
      // The station itself ends the command in time; this is for a station that no longer answers.
      { timeoutMs: timeoutMs + 5000 },
    );
    if (result.code !== 0 && options.allowFailure !== true)
      throw new HostCommandError(this.name, argv, result, options.input);
    return result;
  }

  async spawn(
    logName: string,
    argv: readonly string[],
    options: { env?: Record<string, string> } = {},
  ): Promise<HostProcess> {
    let settle: (end: { code: number | null; signal: string | null }) => void = () => undefined;
    const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
      settle = resolve;
    });
    let pid = 0;
    const early: { pid: number; code: number | null; signal: string | null }[] = [];
    this.station.onEvent((event) => {
      if (event.event !== 'exit') return;
      if (pid === 0) early.push(event);
      else if (event.pid === pid) settle(event);
    });
    const started = await this.station.request('spawn', {
      argv: [...argv],
      logFile: logPath(this.name, logName),
      ...(options.env === undefined ? {} : { env: options.env }),
    });
    pid = started.pid;
    const already = early.find((event) => event.pid === pid);
    if (already !== undefined) settle(already);
    return {
      pid,
      ended,
      kill: async (signal) => {
        await this.station.request('kill', { pid, signal });
      },
    };
  }

  async readLog(logName: string, bytes?: number): Promise<string> {
    const { text } = await this.station.request('readFile', {
      path: logPath(this.name, logName),
      ...(bytes === undefined ? {} : { lastBytes: bytes }),
    });
    return text;
  }
}
