/**
 * Watches the kernel for others' hands on what is ours, so that it is put back at once and not at the next resync:
 * systemd-networkd deletes foreign ip rules, firewalld flushes the whole ruleset on reload. Our own changes show here
 * too; the look they cause finds nothing to do.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { toolEnvironment } from './command.ts';
import { devicePrefix } from './observe.ts';
import { routeProtocol } from './routing.ts';
import { tableName } from './ruleset.ts';

/** ours: links, rules, routes or table of kuport; host: interfaces and addresses of the node. */
export type DriftSubject = 'ours' | 'host';

export interface DriftMonitorEvents {
  /** Something may have changed. */
  onDrift(subject: DriftSubject, what: string): void;
  onError(error: Error): void;
}

/** A monitor that died is started again after this many milliseconds. */
const restartMs = 500;

const ownLine = new RegExp(`${devicePrefix}|proto ${routeProtocol}\\b|fwmark 0x6b70`);
/** A device with its MTU and flags, or an IPv4 address. */
const hostLine = /^(Deleted )?\d+: \S+.*(\binet |\bmtu )/;
const tableLine = new RegExp(`^\\w+ \\w+ ip ${tableName}\\b`);

export class DriftMonitor {
  readonly #events: DriftMonitorEvents;
  readonly #children = new Set<ChildProcess>();
  #isStopped = false;

  constructor(events: DriftMonitorEvents) {
    this.#events = events;
  }

  start(): void {
    this.#watch('ip', ['-oneline', 'monitor', 'link', 'address', 'route', 'rule'], (line) => {
      const subject = ownLine.test(line) ? 'ours' : hostLine.test(line) ? 'host' : null;
      if (subject !== null) this.#events.onDrift(subject, `ip monitor: ${short(line)}`);
    });
    // Only rules: printing elements of interval maps makes the monitor of nft 1.0.6 write garbage and crash (measured).
    // Whoever flushes a table, a chain or the ruleset deletes rules.
    this.#watch('nft', ['monitor', 'rules'], (line) => {
      if (tableLine.test(line)) this.#events.onDrift('ours', `nft monitor: ${short(line)}`);
    });
  }

  stop(): void {
    this.#isStopped = true;
    for (const child of this.#children) child.kill('SIGKILL');
  }

  #watch(program: string, args: readonly string[], onLine: (line: string) => void): void {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], env: toolEnvironment() });
    this.#children.add(child);
    createInterface({ input: child.stdout }).on('line', onLine);
    const ended = (why: string): void => {
      if (!this.#children.delete(child) || this.#isStopped) return;
      this.#events.onError(new Error(`${program} ${args.join(' ')} ended (${why}), starting it again`));
      setTimeout(() => {
        if (this.#isStopped) return;
        this.#watch(program, args, onLine);
        // What happened in between was not seen.
        this.#events.onDrift('ours', `${program} monitor started again`);
      }, restartMs).unref();
    };
    child.on('error', (error) => ended(error.message));
    child.on('exit', (code, signal) => ended(signal ?? `exit ${code}`));
  }
}

/** Without the indentation and the details that a line of the log has no use for. */
function short(line: string): string {
  return line
    .replaceAll(/[\s\\]+/g, ' ')
    .trim()
    .slice(0, 100);
}
