/** The loop: something changed -> snapshot -> plan -> datapath -> statuses. One pass at a time. */
import type { Cluster } from './cluster/cluster.ts';
import type { StatusWriter } from './cluster/status-writer.ts';
import type { Applied, Datapath } from './datapath/datapath.ts';
import { describeChange } from './datapath/describe.ts';
import { type Log, Repetition } from './observability/log.ts';
import type { HostFacts } from './plan/node-plan.ts';
import { plan } from './plan/plan.ts';

/** Changes that come together make one pass. Milliseconds. */
const gatherMs = 5;
/** A pass of its own, with a look at all of the kernel. Milliseconds. */
const resyncMs = 30_000;
/** After a failed pass, doubling. Milliseconds. */
const firstRetryMs = 250;
const longestRetryMs = 15_000;
/** Reasons shown in a line of the log. */
const shownReasons = 5;

export interface ReconcilerParts {
  node: string;
  cluster: Cluster;
  datapath: Datapath;
  statusWriter: StatusWriter;
  log: Log;
  /** What checks of the host have found; undefined before they have been made. */
  findings(): HostFacts['findings'];
  onFirstPass(): void;
  /** A pass has changed something. */
  onApplied(applied: Applied): void;
}

export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #repetition = new Repetition();
  readonly #reasons = new Set<string>();
  #isStarted = false;
  #isRunning = false;
  #hasPassed = false;
  #timer: NodeJS.Timeout | null = null;
  #retryMs = firstRetryMs;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** Call when the cluster's stores are full: before that a plan would take mappings away. */
  start(): void {
    this.#isStarted = true;
    this.trigger('start');
    setInterval(() => {
      this.#parts.datapath.distrust('ours');
      this.trigger('resync');
    }, resyncMs).unref();
  }

  /** @param reason what changed, for the log */
  trigger(reason: string): void {
    this.#reasons.add(reason);
    this.#schedule(gatherMs);
  }

  #schedule(afterMs: number): void {
    if (!this.#isStarted || this.#isRunning || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#run();
    }, afterMs);
  }

  async #run(): Promise<void> {
    const { log } = this.#parts;
    const reasons = [...this.#reasons];
    this.#reasons.clear();
    this.#isRunning = true;
    let failed = false;
    try {
      await this.#pass(reasons);
      this.#retryMs = firstRetryMs;
      if (this.#repetition.isOver('pass')) log.info('pass succeeds again');
    } catch (error) {
      failed = true;
      const { message, stack } = error as Error;
      // What the kernel refuses, it refuses again: the same failure is said once.
      const isRefusal = error instanceof AggregateError || (error as Error).name === 'CommandError';
      if (this.#repetition.isNew('pass', message))
        log.error({ reasons: shown(reasons), error: isRefusal ? message : stack }, 'pass failed');
    }
    this.#isRunning = false;
    if (failed) {
      this.#reasons.add('retry');
      this.#schedule(this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
    } else if (this.#reasons.size > 0) {
      this.#schedule(gatherMs);
    }
  }

  async #pass(reasons: readonly string[]): Promise<void> {
    const { node, cluster, datapath, statusWriter, log, findings } = this.#parts;
    const host = await datapath.look();
    const found = findings();
    const facts = found === undefined ? host : { ...host, findings: found };
    const nodePlan = plan(cluster.snapshot(), node, facts, Date.now());
    const applied = await datapath.apply(nodePlan, host);
    if (applied !== null) {
      const { change, deleted, repairs, duration } = applied;
      this.#parts.onApplied(applied);
      log.info(
        {
          why: shown(reasons),
          ...describeChange(change),
          ...(repairs.length === 0 ? {} : { repaired: shown(repairs.map(({ detail }) => detail)) }),
          ...(deleted.length === 0 ? {} : { conntrackDeleted: deleted.length }),
          ms: Math.round(duration),
        },
        'applied',
      );
    }
    // Statuses follow the kernel: they say what is in force.
    statusWriter.submit(nodePlan);
    if (!this.#hasPassed) this.#parts.onFirstPass();
    this.#hasPassed = true;
  }
}

function shown(reasons: readonly string[]): string[] {
  const more = reasons.length - shownReasons;
  return more > 0 ? [...reasons.slice(0, shownReasons), `and ${more} more`] : [...reasons];
}
