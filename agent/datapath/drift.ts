/**
 * Watches the kernel for others' hands on what is ours, so that it is put back at once and not at the next resync:
 * systemd-networkd deletes foreign ip rules, firewalld flushes the whole ruleset on reload. Of the
 * agent's own changes those of links, rules and routes show here too; the look they cause finds nothing to do.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { toolEnvironment } from './command.ts';
import { devicePrefix } from './observe.ts';
import { routeProtocol } from './routing.ts';
import { RulesetEvents } from './ruleset-events.ts';

/**
 * ours: all of kuport's; links: its links, rules and routes; ruleset: its table; skeleton: its table, but more likely not;
 * host: the node's interfaces and addresses.
 */
export type DriftSubject = 'ours' | 'links' | 'ruleset' | 'skeleton' | 'host';

export interface DriftMonitorEvents {
  /** Something may have changed. */
  onDrift(subject: DriftSubject, what: string): void;
  onError(error: Error): void;
  /** Whether a change of the table comes from the agent itself: the process id of its nft. Default: none does. */
  isOwnCommit?(processId: number): boolean;
}

/** A monitor that died is started again after this many milliseconds, doubled while it dies at once. */
const firstRestartMs = 250;
const longestRestartMs = 30_000;
/** One that has lived this long, in milliseconds, has not died at once. */
const livedMs = 10_000;

const ownLine = new RegExp(`${devicePrefix}|proto ${routeProtocol}\\b|fwmark 0x6b70`);
/** Links carry IPv4 alone; the kernel gives them an IPv6 address of their own all the same, seconds later. */
const ipv6 = /inet6|fe80::|ff00::/;
/** A device with its MTU and flags, or an IPv4 address. */
const hostLine = /^(Deleted )?\d+: \S+.*(\binet |\bmtu )/;

/** By then, in milliseconds, a monitor that has been started listens: as a rule, and on a busy machine. */
const listeningMs = [150, 1000] as const;

export class DriftMonitor {
  readonly #events: DriftMonitorEvents;
  readonly #children = new Set<ChildProcess>();
  readonly #replaced = new WeakSet<ChildProcess>();
  #isStopped = false;
  /** Looks to come after replacements, by their delay. */
  readonly #verifying = new Map<number, 'once' | 'again'>();

  constructor(events: DriftMonitorEvents) {
    this.#events = events;
  }

  start(): void {
    this.#watch('ip', ['-oneline', 'monitor', 'link', 'address', 'route', 'rule'], (child) => {
      if (child.stdout === null) return;
      createInterface({ input: child.stdout }).on('line', (line) => {
        const subject = ipv6.test(line) ? null : ownLine.test(line) ? 'links' : hostLine.test(line) ? 'host' : null;
        if (subject !== null) this.#events.onDrift(subject, `ip monitor: ${short(line)}`);
      });
    });
    // The kernel's messages come whatever the monitor is asked for; it makes sense of new tables only, lest it crash.
    // stdbuf: nft hands on what it shows of them once it has 4 kB of it, which may be hours later.
    this.#watch('stdbuf', ['-oL', 'nft', '--debug=mnl', 'monitor', 'new', 'tables'], (child) => {
      const events = new RulesetEvents(
        (processId) => {
          if (this.#events.isOwnCommit?.(processId) === true) return;
          this.#events.onDrift('ruleset', `nft monitor: changed by process ${processId}`);
        },
        (unfinished) => {
          if (unfinished.some((processId) => this.#events.isOwnCommit?.(processId) !== true)) {
            // What it was in the middle of may have been ours.
            this.#events.onDrift('ruleset', `nft monitor: lost in a change by process ${unfinished.join(', ')}`);
          }
          this.#replace(child);
        },
      );
      child.stdout?.setEncoding('latin1').on('data', (text: string) => events.read(text));
    });
  }

  /** One that has lost its way is ended; another takes its place at once. */
  #replace(child: ChildProcess): void {
    this.#replaced.add(child);
    child.kill('SIGKILL');
  }

  stop(): void {
    this.#isStopped = true;
    for (const child of this.#children) child.kill('SIGKILL');
  }

  /** During a replacement little can have been missed: a look once the new one listens, and one when it does for certain. */
  #verify(command: string): void {
    for (const afterMs of listeningMs) {
      if (this.#verifying.has(afterMs)) {
        this.#verifying.set(afterMs, 'again');
        continue;
      }
      this.#verifying.set(afterMs, 'once');
      setTimeout(() => {
        const isReplacedSince = this.#verifying.get(afterMs) === 'again';
        this.#verifying.delete(afterMs);
        if (this.#isStopped) return;
        this.#events.onDrift('skeleton', `replaced: ${command}`);
        if (isReplacedSince) this.#verify(command);
      }, afterMs).unref();
    }
  }

  /** What happened until then was not seen. */
  #whenListening(what: string, subject: DriftSubject, afterMs: number): void {
    setTimeout(() => {
      if (!this.#isStopped) this.#events.onDrift(subject, what);
    }, afterMs).unref();
  }

  #watch(
    program: string,
    args: readonly string[],
    listen: (child: ChildProcess) => void,
    restartMs = firstRestartMs,
  ): void {
    const startedAt = performance.now();
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], env: toolEnvironment() });
    this.#children.add(child);
    listen(child);
    const ended = (why: string): void => {
      if (!this.#children.delete(child) || this.#isStopped) return;
      const command = [program, ...args].join(' ');
      if (this.#replaced.has(child)) {
        this.#watch(program, args, listen);
        this.#verify(command);
        return;
      }
      this.#events.onError(new Error(`${command} ended (${why}), starting it again in ${restartMs} ms`));
      // That of nft 1.0.6 crashes at some flushes of the ruleset (measured): its end is itself a sign of a change.
      this.#events.onDrift('ours', `ended: ${command}`);
      const next = performance.now() - startedAt > livedMs ? firstRestartMs : Math.min(2 * restartMs, longestRestartMs);
      setTimeout(() => {
        if (this.#isStopped) return;
        this.#watch(program, args, listen, next);
        // What happened in between was not seen, nor what happens until it listens.
        this.#events.onDrift('ours', `started again: ${command}`);
        for (const afterMs of listeningMs) this.#whenListening(`listens again: ${command}`, 'ours', afterMs);
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
