/** The agent of one node: whatever changes, in the cluster or on the host, one pass brings both into line. */

import type { KubeConfig } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import { ApiClient } from './cluster/api-client.ts';
import { Cluster } from './cluster/cluster.ts';
import { StatusWriter } from './cluster/status-writer.ts';
import { type Applied, Datapath } from './datapath/datapath.ts';
import { DriftMonitor } from './datapath/drift.ts';
import type { NodePlan } from './plan/node-plan.ts';
import { plan } from './plan/plan.ts';

export interface NodeAgentOptions {
  node: string;
  credentials: KubeConfig;
  log: Logger;
}

/** Changes come in bursts (a move is several objects): a pass waits this long for the rest, in milliseconds. */
const gatherMs = 5;

/** Without any event everything is looked at again after this long, in milliseconds. */
const resyncMs = 30_000;

/** After a failed pass the next one comes by itself, in milliseconds. */
const retryMs = 1000;

export class NodeAgent {
  readonly #options: NodeAgentOptions;
  readonly #datapath = new Datapath();
  readonly #cluster: Cluster;
  readonly #writer: StatusWriter;
  readonly #monitor: DriftMonitor;
  readonly #reasons = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #startedAt = performance.now();
  #ready = false;

  constructor(options: NodeAgentOptions) {
    this.#options = options;
    const { log } = options;
    const client = new ApiClient(options.credentials);
    this.#cluster = new Cluster(client, {
      onChange: () => this.#schedule('cluster', gatherMs),
      onRetry: (error, delayMs) => log.warn({ error: error.message, delayMs }, 'API server not reached'),
    });
    this.#writer = new StatusWriter(client, this.#cluster);
    this.#monitor = new DriftMonitor({
      ownCommits: this.#datapath.ownCommits,
      onDrift: (what) => {
        this.#datapath.distrust();
        this.#schedule(what, gatherMs);
      },
      onError: (error) => log.warn({ error: error.message }, 'kernel monitor'),
    });
  }

  /** True once the first pass has been made: the node holds what the cluster asks of it. */
  get ready(): boolean {
    return this.#ready;
  }

  start(): void {
    this.#startedAt = performance.now();
    this.#monitor.start();
    this.#cluster.start();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#monitor.stop();
    this.#cluster.stop();
  }

  #schedule(reason: string, delayMs: number): void {
    this.#reasons.add(reason);
    if (this.#running) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#pass(), delayMs);
  }

  async #pass(): Promise<void> {
    const { log, node } = this.#options;
    const snapshot = this.#cluster.snapshot();
    if (snapshot === null) return;
    this.#running = true;
    const reasons = [...this.#reasons];
    this.#reasons.clear();
    // A pass that nobody asked for is the resync: it heals what no monitor has told of.
    if (reasons.length === 0) this.#datapath.distrust();
    let next = resyncMs;
    try {
      const reading = await this.#datapath.look();
      const wanted = plan(snapshot, node, reading.facts, Date.now());
      const applied = await this.#datapath.apply(wanted, reading);
      if (applied !== null) this.#report(applied, wanted, reasons);
      const written = await this.#writer.write(wanted);
      for (const each of written) log.info(each, 'status written');
      // What was learnt from our own writes (a slot, say) may ask for more.
      if (written.length > 0) this.#reasons.add('own status');
      if (!this.#ready) {
        this.#ready = true;
        log.info({ milliseconds: Math.round(performance.now() - this.#startedAt), node }, 'ready');
      }
    } catch (error) {
      log.error({ error: (error as Error).message }, 'pass failed');
      next = retryMs;
    } finally {
      this.#running = false;
      const more = this.#reasons.size > 0 && next === resyncMs;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#pass(), more ? gatherMs : next);
    }
  }

  #report({ change, deleted, duration }: Applied, { deliveries, links }: NodePlan, reasons: readonly string[]): void {
    this.#options.log.info(
      {
        because: reasons,
        ip: [...change.ipBefore, ...change.ipAfter],
        nft: change.nft.split('\n').filter((line) => line !== '').length,
        conntrackDeleted: deleted.length,
        deliveries: deliveries.length,
        links: links.length,
        milliseconds: Math.round(duration),
      },
      'applied',
    );
  }
}
