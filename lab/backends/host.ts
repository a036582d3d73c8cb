/**
 * A machine of the lab, whatever it is made of. Scenarios, the network builder and the workload know hosts only through
 * this interface; a backend decides whether the commands travel over a pipe into a namespace, ssh or kubectl exec.
 */
import type { StationClient } from '../station/client.ts';

export interface ExecOptions {
  /** Text for the command's standard input. */
  input?: string;
  /** Milliseconds until the command is killed and the call fails. Default 10 000. */
  timeoutMs?: number;
  /** Return a non-zero exit instead of throwing. Default false. */
  allowFailure?: boolean;
  /** Environment variables added to the host's. */
  env?: Record<string, string>;
}

export interface ExecResult {
  /** Exit status; 128 + signal number when the command was killed. */
  code: number;
  stdout: string;
  stderr: string;
  /** How long the command ran, in milliseconds. */
  milliseconds: number;
}

/** A long-running process on a host, ended with the lab at the latest. */
export interface HostProcess {
  readonly pid: number;
  /** Sends a signal, e.g. SIGTERM, to the process. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Settles when the process has ended. */
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
}

/** Where the project's programs lie on a host. */
export interface Installation {
  /** The Node.js that runs them, with its flags: the first words of a command line. */
  node: readonly string[];
  /** The project's folder: programs are in its dist/, custom resource definitions in its crds/. */
  root: string;
}

export type HostRole = 'internet' | 'router' | 'node' | 'control' | 'client' | 'pod';

export interface Host {
  readonly name: string;
  readonly role: HostRole;
  readonly installation: Installation;
  /** The resident program on this host: echo responders, probes, steady flows, captures. */
  readonly station: StationClient;
  /** Runs one command to its end. Throws HostCommandError on a non-zero exit unless allowFailure is set. */
  exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /** Starts a process that goes on; its output is appended to the host's log of that name (see `lab logs`). */
  spawn(logName: string, argv: readonly string[], options?: { env?: Record<string, string> }): Promise<HostProcess>;
  /** The last `bytes` bytes of a log that spawn wrote; the whole log without it. */
  readLog(logName: string, bytes?: number): Promise<string>;
}

/** A command on a host failed: carries all that is needed to repeat it by hand. */
export class HostCommandError extends Error {
  override readonly name = 'HostCommandError';
  readonly host: string;
  readonly argv: readonly string[];
  readonly result: ExecResult;

  constructor(host: string, argv: readonly string[], result: ExecResult, input?: string) {
    const command = argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
    const shownInput = input === undefined ? '' : `\n--- its input\n${input.slice(0, 4000)}`;
    super(
      `${host}: \`${command.join(' ')}\` exited ${result.code}: ${result.stderr.trim() || result.stdout.trim()}${shownInput}`,
    );
    this.host = host;
    this.argv = argv;
    this.result = result;
  }
}
