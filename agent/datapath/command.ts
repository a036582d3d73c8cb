/** Runs one of the host's own tools. The only place that starts a process which ends by itself. */
import { execa } from 'execa';

/** A tool that is not there, ended with an error, or took too long. */
export class CommandError extends Error {
  readonly stderr: string;
  constructor(message: string, stderr: string) {
    super(message);
    this.name = 'CommandError';
    this.stderr = stderr;
  }
}

/** Longest input shown in an error: enough to see the line at fault, too little to flood a log. */
const shownInput = 2000;

function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}

export interface CommandOptions {
  input?: string;
  /** Milliseconds; these tools answer in tens of them, a stuck one must not stop the agent for good. */
  timeoutMs?: number;
  /** Called with the process id before it can have done anything. */
  onStart?(processId: number): void;
}

/** Messages are compared and shown: no translations. A user's PATH on Debian lacks the folders of nft and conntrack. */
export function toolEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, LC_ALL: 'C', PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };
}

/**
 * @returns what it wrote to stdout
 * @throws CommandError naming the command, why it failed, its stderr and the text it was fed
 */
export async function run(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { input, timeoutMs = 30_000, onStart } = options;
  const child = execa(command, args, {
    input: input ?? '',
    reject: false,
    timeout: timeoutMs,
    stripFinalNewline: false,
    maxBuffer: 512 * 1024 * 1024,
    env: toolEnvironment(),
  });
  if (child.pid !== undefined) onStart?.(child.pid);
  const result = await child;
  if (!result.failed) return result.stdout;
  const text = [command, ...args].map(quoted).join(' ');
  const cause =
    result.code === 'ENOENT'
      ? `there is no ${command} in PATH (${process.env.PATH ?? ''})`
      : result.timedOut
        ? `no answer within ${timeoutMs} ms`
        : result.signal !== undefined
          ? `killed by ${result.signal}`
          : `exit ${result.exitCode}`;
  const shown = input === undefined ? '' : input.length > shownInput ? `${input.slice(0, shownInput)}...` : input;
  throw new CommandError(
    [`${text}: ${cause}`, result.stderr?.trim(), shown && `input:\n${shown.trimEnd()}`].filter(Boolean).join('\n'),
    result.stderr ?? '',
  );
}
