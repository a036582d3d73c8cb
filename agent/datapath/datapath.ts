/** The datapath of one node: applies plans, remembers what the kernel holds, looks again when told that it may differ. */
import type { NodePlan } from '../plan/node-plan.ts';
import { applyChange, type Change, difference, isNoChange } from './apply.ts';
import { type ConntrackEntry, changedDeliveries, deleteStale } from './conntrack.ts';
import { deliveriesOf } from './deliveries.ts';
import { type HostReading, readHost } from './host.ts';
import { type Observed, observe, readLinks } from './observe.ts';
import { routingOf } from './routing.ts';
import { elementsOf, isEmpty } from './ruleset.ts';

export interface Applied {
  change: Change;
  /** Conntrack entries deleted because the change made them stale. */
  deleted: ConntrackEntry[];
  /** Milliseconds. */
  duration: number;
}

export class Datapath {
  #known: Observed | null = null;
  /** Process numbers of our own nft transactions, for the monitor. */
  readonly ownCommits = new Set<number>();

  /** The host as it is now, and what of ours is on it. */
  async look(): Promise<HostReading> {
    const reading = await readHost();
    // Links are read with the interfaces anyway; the rest is known until somebody else has touched it.
    this.#known =
      this.#known === null
        ? await observe(reading.interfaces)
        : { ...this.#known, links: readLinks(reading.interfaces) };
    return reading;
  }

  /** Somebody may have changed what is ours: the next look reads everything. */
  distrust(): void {
    this.#known = null;
  }

  /** @returns null when nothing had to be done. @throws CommandError */
  async apply(plan: NodePlan, reading: HostReading): Promise<Applied | null> {
    const begin = performance.now();
    const have = this.#known ?? (await observe(reading.interfaces));
    const change = difference(have, plan);
    if (isNoChange(change)) {
      this.#known = have;
      return null;
    }
    // Until all of it is done, nobody knows what the kernel holds.
    this.#known = null;
    await applyChange(change, { nftStarted: (pid) => this.#rememberCommit(pid) });
    const addresses = new Map<string, string[]>([
      ...reading.interfaces.map((each) => [each.name, each.addresses] as [string, string[]]),
      ...plan.links.map((link) => [link.device, [link.address]] as [string, string[]]),
    ]);
    const before = have.sets === null ? [] : deliveriesOf(have.sets, (device) => addresses.get(device) ?? []);
    const deleted = await deleteStale(changedDeliveries(before, plan.deliveries), [...addresses.values()].flat());
    this.#known = expected(plan);
    return { change, deleted, duration: performance.now() - begin };
  }

  #rememberCommit(pid: number): void {
    this.ownCommits.add(pid);
    // The monitor's line follows the commit; a minute later the number may be another process's.
    setTimeout(() => this.ownCommits.delete(pid), 60_000).unref();
  }
}

/** What the kernel holds once a plan has been applied. */
function expected(plan: NodePlan): Observed {
  const { links, rules, routes } = routingOf(plan);
  const sets = elementsOf(plan);
  const empty = isEmpty(sets);
  return {
    links: links.map((link) => ({ ...link, up: true })),
    rules,
    routes,
    sets: empty ? null : sets,
    hasTable: !empty,
  };
}
