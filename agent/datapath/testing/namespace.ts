/** A network namespace of its own for a test, with the datapath code running in it. Nothing of the host is touched. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { DriverMethods } from './driver.ts';

/** Tools whose runs are recorded. */
const recorded = ['ip', 'nft', 'conntrack'];

/** The driver as one file; the same for all tests of a file, since bundling it takes a third of a second. */
let bundle: Promise<Uint8Array> | undefined;

async function bundleDriver(): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('driver.ts', import.meta.url))],
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error('esbuild made no file of driver.ts');
  return file.contents;
}

export class TestNamespace {
  readonly #child: ChildProcess;
  /** Removed with the namespace. */
  readonly folder: string;
  readonly #answers: ((line: string) => void)[] = [];

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.folder = folder;
    if (child.stdout === null) throw new Error('driver without stdout');
    createInterface({ input: child.stdout }).on('line', (line) => this.#answers.shift()?.(line));
  }

  /** @throws Error when namespaces cannot be made here */
  static async start(): Promise<TestNamespace> {
    const folder = await mkdtemp(join(tmpdir(), 'kuport-test-'));
    const driver = join(folder, 'driver.mjs');
    bundle ??= bundleDriver();
    await writeFile(driver, await bundle);
    for (const tool of recorded) {
      const wrapper = `#!/bin/sh\necho "${tool} $*" >> ${folder}/commands\nPATH=\${PATH#*:} exec ${tool} "$@"\n`;
      await writeFile(join(folder, tool), wrapper);
      await chmod(join(folder, tool), 0o755);
    }
    const asRoot = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
    const child = spawn(
      'unshare',
      [...asRoot, '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', process.execPath, driver],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { ...process.env, PATH: `${folder}:${process.env.PATH ?? ''}:/usr/sbin:/sbin` },
      },
    );
    const namespace = new TestNamespace(child, folder);
    child.once('exit', (code) => {
      for (const answer of namespace.#answers.splice(0)) answer(JSON.stringify({ error: `the driver ended: ${code}` }));
    });
    await namespace.sh('ip link set lo up');
    return namespace;
  }

  async call<Method extends keyof DriverMethods>(
    method: Method,
    argument?: Parameters<DriverMethods[Method]>[0],
  ): Promise<Awaited<ReturnType<DriverMethods[Method]>>> {
    const answered = new Promise<string>((resolve) => this.#answers.push(resolve));
    this.#child.stdin?.write(`${JSON.stringify({ method, argument })}\n`);
    const answer = JSON.parse(await answered) as { error?: string; result: Awaited<ReturnType<DriverMethods[Method]>> };
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.result;
  }

  sh(command: string): Promise<string> {
    return this.call('sh', command);
  }

  /**
   * A client 203.0.113.7 behind device enp1s0, which has 203.0.113.9; pods' addresses 10.244.1.7 and .8 are this host's
   * own. What a host sends to itself will not do: its flows have begun before they reach prerouting.
   */
  async addClient(): Promise<void> {
    await this.sh(
      [
        'mount -t tmpfs tmpfs /run',
        'ip netns add client',
        'ip link add enp1s0 type veth peer name eth0 netns client',
        'ip addr add 203.0.113.9/24 dev enp1s0 && ip link set enp1s0 up',
        'ip addr add 10.244.1.7/32 dev lo && ip addr add 10.244.1.8/32 dev lo',
        'ip -n client addr add 203.0.113.7/24 dev eth0 && ip -n client link set eth0 up',
      ].join(' && '),
    );
  }

  /** Datagrams from the client to 203.0.113.9, each from a socket of its own. */
  async sendFromClient(port: number, datagrams = 1): Promise<void> {
    await this.sh(
      `ip netns exec client bash -c 'for i in $(seq ${datagrams}); do echo x > /dev/udp/203.0.113.9/${port}; done'`,
    );
  }

  /** Commands that the code under test, or `sh`, has run since the last time. */
  async commands(): Promise<string[]> {
    const path = join(this.folder, 'commands');
    const text = await readFile(path, 'utf8').catch(() => '');
    await writeFile(path, '');
    return text.split('\n').filter((line) => line !== '');
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin?.end();
    this.#child.kill('SIGKILL');
    await ended;
    await rm(this.folder, { recursive: true });
  }
}
