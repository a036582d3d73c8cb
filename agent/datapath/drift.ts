/**
 * Watches the kernel for others' hands on what is ours, so that it is put back at once and not at the next resync:
 * systemd-networkd deletes foreign ip rules, firewalld flushes the whole ruleset on reload.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface DriftMonitorOptions {
  /** Process numbers of this agent's own nft transactions. */
  ownCommits: ReadonlySet<number>;
  /** Something of ours, or an interface or address of the host, may have changed. */
  onDrift(what: string): void;
  onError(error: Error): void;
}

/** A monitor that died is started again after this many milliseconds. */
const restartMs = 500;

export class DriftMonitor {
  readonly #options: DriftMonitorOptions;
  readonly #children = new Set<ChildProcess>();
  #stopped = false;

  constructor(options: DriftMonitorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#watch('ip', ['-oneline', 'monitor', 'link', 'address', 'route', 'rule'], (line) => {
      if (/kup-|proto 107|fwmark 0x6b70/.test(line)) this.#options.onDrift(`ip: ${line.trim()}`);
      // Addresses and MTUs of the host's own devices are input of the plan.
      else if (/^(Deleted )?\d+: \S+.*(\binet |\bmtu )/.test(line)) this.#options.onDrift(`host: ${line.trim()}`);
    });
    this.#watch('nft', ['monitor'], this.#nftLine());
  }

  stop(): void {
    this.#stopped = true;
    for (const child of this.#children) child.kill('SIGKILL');
  }

  /** nft names the transaction's process after what it did: `# new generation 7 by process 4711 (nft)`. */
  #nftLine(): (line: string) => void {
    let touched: string | null = null;
    return (line) => {
      const generation = /^# new generation \d+ by process (\d+)/.exec(line);
      if (generation === null) {
        if (/\bkuport\b/.test(line)) touched ??= line;
        return;
      }
      const what = touched;
      touched = null;
      if (what !== null && !this.#options.ownCommits.has(Number(generation[1])))
        this.#options.onDrift(`nft: ${what.trim()}`);
    };
  }

  #watch(program: string, args: readonly string[], onLine: (line: string) => void): void {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` },
    });
    this.#children.add(child);
    createInterface({ input: child.stdout }).on('line', onLine);
    const ended = (why: string): void => {
      if (!this.#children.delete(child) || this.#stopped) return;
      this.#options.onError(new Error(`\`${program} ${args.join(' ')}\` ended (${why}): started again`));
      setTimeout(() => {
        if (this.#stopped) return;
        this.#watch(program, args, onLine);
        // What happened in between was not seen.
        this.#options.onDrift(`${program} monitor restarted`);
      }, restartMs).unref();
    };
    child.on('error', (error) => ended(error.message));
    child.on('exit', (code, signal) => ended(signal ?? `exit ${code}`));
  }
}
