/** Running ip, nft and conntrack: errors that can be repeated by hand. */
import { execa, type Options } from 'execa';

/** A command on this node failed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly command: string;
  readonly stderr: string;

  constructor(command: string, exit: string, stderr: string, input: string | undefined) {
    super(
      `\`${command}\` ${exit}: ${stderr.trim()}${input === undefined ? '' : `\n--- its input\n${input.slice(0, 4000)}`}`,
    );
    this.command = command;
    this.stderr = stderr;
  }
}

export interface CommandOptions {
  input?: string;
  /** Milliseconds until the command is killed. Default 10 000. */
  timeoutMs?: number;
  /** Return what it printed although it failed. Default false. */
  allowFailure?: boolean;
  /** Told the process number as soon as there is one. */
  started?(pid: number): void;
}

/** @returns standard output. @throws CommandError */
export async function run(argv: readonly [string, ...string[]], options: CommandOptions = {}): Promise<string> {
  const [program, ...args] = argv;
  const settings: Options = {
    reject: false,
    timeout: options.timeoutMs ?? 10_000,
    stripFinalNewline: false,
    // Debian keeps these tools in sbin, which is not on every PATH.
    env: { LC_ALL: 'C', PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` },
    ...(options.input === undefined ? { stdin: 'ignore' } : { input: options.input }),
  };
  const child = execa(program, args, settings);
  if (child.pid !== undefined) options.started?.(child.pid);
  const result = await child;
  const text = (output: unknown): string => (typeof output === 'string' ? output : '');
  if (result.failed && options.allowFailure !== true) {
    const exit = result.exitCode === undefined ? (result.shortMessage ?? 'could not run') : `exited ${result.exitCode}`;
    throw new CommandError(argv.join(' '), exit, text(result.stderr), options.input);
  }
  return text(result.stdout);
}
