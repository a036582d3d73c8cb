/** `lab exec` and `lab shell` on a machine: an ssh connection of its own, beside the one the lab lives on. */
import { loadSsh } from '../ssh/load.ts';
import type { ShellAccess } from './shell-access.ts';
import { quote } from './shell-words.ts';

export interface Entry {
  machine: string;
  /** Name shown in a shell's prompt. */
  host: string;
  access: ShellAccess;
  argv: readonly string[];
}

/** @returns the command's exit status */
export async function enterMachine({ machine, host, access, argv }: Entry): Promise<number> {
  const { SshConnection } = await loadSsh();
  const connection = await SshConnection.open({
    ...{ machine, username: 'root', timeoutMs: 30_000, ...access },
  });
  const command = `export PS1=${quote(`${host}:\\w# `)}; exec ${argv.map(quote).join(' ')}`;
  const { stdin, stdout, stderr } = process;
  const interactive = stdin.isTTY && stdout.isTTY;
  const channel = interactive
    ? await connection.terminal(command, { rows: stdout.rows, cols: stdout.columns }, process.env.TERM ?? 'xterm')
    : await connection.channel(command);
  if (interactive) {
    stdin.setRawMode(true);
    stdout.on('resize', () => channel.setWindow(stdout.rows, stdout.columns, 0, 0));
  }
  stdin.pipe(channel);
  channel.pipe(stdout);
  channel.stderr.pipe(stderr);
  let status = 255;
  channel.on('exit', (code: number | null) => {
    status = code ?? 255;
  });
  await new Promise((resolve) => channel.on('close', resolve));
  if (interactive) stdin.setRawMode(false);
  stdin.unpipe(channel);
  connection.end();
  return status;
}
