/** The agent's command line, as its own program, in network namespaces that a test fills first. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

export interface Outcome {
  /** Null: ended by a signal, or by the time limit. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Milliseconds after which a script is given up: it hangs. */
const scriptLimit = 20_000;

export class CommandLine {
  /** For files of the test; removed at its end. */
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async build(): Promise<CommandLine> {
    const folder = mkdtempSync(join(tmpdir(), 'kuport-command-'));
    await build({
      entryPoints: [fileURLToPath(new URL('../main.ts', import.meta.url))],
      outfile: join(folder, 'agent.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    });
    return new CommandLine(folder);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  /** Runs a script in a network namespace of its own, as root or not, where `kuport_agent` is the program. */
  inNamespace(script: string, input = ''): Outcome {
    const asRoot = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
    const { KUBERNETES_SERVICE_HOST: _, NODE_NAME: __, ...environment } = process.env;
    const text = `agent="${process.execPath} ${this.folder}/agent.mjs"
kuport_agent() { $agent "$@"; }
mount -t tmpfs none /run && ip link set lo up && ${script}`;
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      [...asRoot, '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', text],
      {
        encoding: 'utf8',
        input,
        timeout: scriptLimit,
        env: { ...environment, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` },
      },
    );
    return { code: status, stdout, stderr };
  }
}
