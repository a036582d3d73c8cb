/** The datapath of one node: applies plans, remembers what the kernel holds, looks again when told that it may differ. */
import type { HostFacts, NodePlan } from '../plan/node-plan.ts';
import { applyChange } from './apply.ts';
import { type Change, difference, isNoChange } from './change.ts';
import { type ConntrackEntry, changedDeliveries, deleteStale } from './conntrack.ts';
import { deliveriesOf } from './deliveries.ts';
import { readHostFacts } from './host.ts';
import { readIpState } from './ip-json.ts';
import { linkMarksOf, type Observed, observe, observeRuleset } from './observe.ts';
import { routingOf } from './routing.ts';
import { elementsOf, isEmpty } from './ruleset.ts';

export interface Applied {
  change: Change;
  /** Conntrack entries deleted because the change made them stale. */
  deleted: ConntrackEntry[];
  /** Milliseconds. */
  duration: number;
}

/** How long what the host looks like is believed without an event: sockets come and go without one. Milliseconds. */
const factsLifetime = 10_000;

export class Datapath {
  #known: Observed | null = null;
  #facts: { value: HostFacts; readAt: number } | null = null;
  /** How nft lists the skeleton when it is whole. */
  #baseline: string | null = null;
  /** Process numbers of our own nft transactions, for the monitor. */
  readonly ownCommits = new Set<number>();

  /** What the host looks like now; read again only when it may have changed. @throws CommandError */
  async look(): Promise<HostFacts> {
    if (this.#known !== null && this.#facts !== null && performance.now() - this.#facts.readAt < factsLifetime)
      return { ...this.#facts.value, linkMarks: linkMarksOf(this.#known) };
    const readAt = performance.now();
    const ip = await readIpState();
    const [value, known] = await Promise.all([readHostFacts(ip), observe(ip)]);
    this.#facts = { value, readAt };
    this.#known = known;
    return value;
  }

  /** Somebody may have changed what is ours, or the host: the next look reads everything. */
  distrust(): void {
    this.#known = null;
  }

  /**
   * @returns null when nothing had to be done: no command that writes has been run then
   * @throws CommandError, AggregateError; the next look reads everything
   */
  async apply(plan: NodePlan, host: HostFacts): Promise<Applied | null> {
    const begin = performance.now();
    const have = this.#known ?? (await observe());
    const change = difference(have, plan, this.#baseline);
    if (!change.isNewTable && have.isOurs) this.#baseline ??= have.skeleton;
    if (isNoChange(change)) {
      this.#known = have;
      return null;
    }
    // Until all of it is done, nobody knows what the kernel holds.
    this.#known = null;
    await applyChange(change, { nftStarted: (pid) => this.#rememberCommit(pid) });
    const deleted = await this.#deleteStale(have, plan, host);
    if (change.isNewTable) this.#baseline = (await observeRuleset()).skeleton;
    this.#known = expected(plan, this.#baseline);
    return { change, deleted, duration: performance.now() - begin };
  }

  async #deleteStale(have: Observed, plan: NodePlan, host: HostFacts): Promise<ConntrackEntry[]> {
    const addresses = new Map<string, string[]>([
      ...host.interfaces.map(({ name, addresses }) => [name, addresses] as const),
      ...have.links.map(
        ({ device, addresses }) => [device, addresses.map((each) => each.split('/')[0] ?? '')] as const,
      ),
    ]);
    const before = deliveriesOf(have.sets, (device) => addresses.get(device) ?? []);
    const own = [...addresses.values(), ...plan.links.map((link) => [link.address])].flat();
    return deleteStale(changedDeliveries(before, plan.deliveries), own);
  }

  #rememberCommit(pid: number): void {
    this.ownCommits.add(pid);
    // The monitor's line follows the commit; a minute later the number may be another process's.
    setTimeout(() => this.ownCommits.delete(pid), 60_000).unref();
  }
}

/** What the kernel holds once a plan has been applied. */
function expected(plan: NodePlan, skeleton: string | null): Observed {
  const { links, rules, routes } = routingOf(plan);
  const sets = elementsOf(plan);
  return {
    links: links.map((link) => ({
      device: link.device,
      isUp: true,
      mtu: link.mtu,
      vxlan: { vni: link.vni, port: link.port, local: link.underlayAddress, remote: link.peerUnderlayAddress, ttl: 64 },
      addresses: [`${link.address}/31`],
      rpFilter: 2,
    })),
    rules,
    routes,
    sets,
    skeleton: isEmpty(sets) ? null : skeleton,
    isOurs: !isEmpty(sets),
  };
}
