/** The datapath of one node: applies plans, remembers what the kernel holds, looks again when told that it may differ. */
import type { Delivery, HostFacts, NodePlan } from '../plan/node-plan.ts';
import { applyChange } from './apply.ts';
import { type Change, difference, isNoChange } from './change.ts';
import {
  type ConntrackEntry,
  changedDeliveries,
  changeKey,
  type DeliveryChange,
  deleteStale,
  upToDate,
} from './conntrack.ts';
import { CounterMemory } from './counters.ts';
import { deliveriesOf } from './deliveries.ts';
import type { DriftSubject } from './drift.ts';
import { type Counter, elementComment } from './elements.ts';
import { readHostFacts } from './host.ts';
import { heldIdleTimeouts, idleTimeoutsOf } from './idle-timeouts.ts';
import { readIpState } from './ip-json.ts';
import {
  linkMarksOf,
  type Observed,
  type ObservedRouting,
  type ObservedRuleset,
  observeRouting,
  observeRuleset,
  readSkeleton,
} from './observe.ts';
import { type Repair, repairsOf } from './repairs.ts';
import { linkMac, routingOf } from './routing.ts';
import { elementsOf, isEmpty, type SetName } from './ruleset.ts';

export interface Applied {
  change: Change;
  /** Conntrack entries deleted because the change made them stale. */
  deleted: ConntrackEntry[];
  /** What others had undone since the last pass and this one has put back. */
  repairs: Repair[];
  /** Milliseconds. */
  duration: number;
}

/** How long what the host looks like is believed without an event: sockets come and go without one. Milliseconds. */
const factsLifetime = 10_000;

/** Of the time that has passed, one part in this many goes into reading elements that are hardly in doubt. */
const doubtShare = 20;

/** Commits whose messages from the kernel may still be on the way. */
const rememberedCommits = 8;

export class Datapath {
  /** What the kernel holds; null where somebody may have changed it. */
  #routing: ObservedRouting | null = null;
  #ruleset: ObservedRuleset | null = null;
  #facts: { value: HostFacts; readAt: number } | null = null;
  /** How nft lists the skeleton when it is whole. */
  #baseline: string | null = null;
  /** What the last pass has left; null where it failed. */
  #left: NodePlan | null = null;
  /** Whether the kernel has been looked at since then. */
  #hasLooked = false;
  readonly #counters = new CounterMemory();
  /** Changes whose stale conntrack entries are still to be deleted: kept until that has succeeded. */
  readonly #outstanding = new Map<string, DeliveryChange>();
  /** Counts the times of being told that the kernel may differ: a look that began before the latest is void. */
  readonly #doubts = { links: 0, ruleset: 0 };
  #isSkeletonInDoubt = false;
  /** When all of the table was last read, and how long that took, in milliseconds. */
  #rulesetRead = { at: Number.NEGATIVE_INFINITY, took: 0 };
  readonly #commits: number[] = [];

  /** What the host looks like now; read again only when it may have changed. @throws CommandError */
  async look(): Promise<HostFacts> {
    const readAt = performance.now();
    const facts = this.#facts !== null && readAt - this.#facts.readAt < factsLifetime ? this.#facts : null;
    if (facts !== null && this.#routing !== null && this.#ruleset !== null && !this.#isSkeletonInDoubt)
      return { ...facts.value, linkMarks: linkMarksOf(this.#routing) };
    const doubts = { ...this.#doubts };
    if (this.#isSkeletonInDoubt) await this.#lookAtSkeleton();
    // Only what is in doubt: thousands of elements take longer to read than all the rest, and each tool is a process.
    const [[value, routing], ruleset] = await Promise.all([
      facts !== null && this.#routing !== null
        ? ([facts.value, this.#routing] as const)
        : this.#lookAtHost(facts?.value),
      this.#ruleset ?? this.#readRuleset(),
    ]);
    this.#facts = facts ?? { value, readAt };
    this.#trust(routing, ruleset, doubts);
    this.#hasLooked = true;
    return { ...value, linkMarks: linkMarksOf(routing) };
  }

  /** A slight doubt: the table without elements is read in milliseconds, these only where that costs little in comparison. */
  async #lookAtSkeleton(): Promise<void> {
    this.#isSkeletonInDoubt = false;
    if (this.#ruleset === null) return;
    const isElementsTurn = performance.now() - this.#rulesetRead.at > doubtShare * this.#rulesetRead.took;
    if (isElementsTurn || (await readSkeleton()) !== this.#ruleset?.skeleton) this.#ruleset = null;
  }

  async #readRuleset(): Promise<ObservedRuleset> {
    const begin = performance.now();
    const ruleset = await observeRuleset();
    this.#rulesetRead = { at: performance.now(), took: performance.now() - begin };
    return ruleset;
  }

  async #lookAtHost(facts: HostFacts | undefined): Promise<[HostFacts, ObservedRouting]> {
    const ip = await readIpState();
    return Promise.all([facts ?? readHostFacts(ip), observeRouting(ip)]);
  }

  #trust(routing: ObservedRouting, ruleset: ObservedRuleset, doubts: { links: number; ruleset: number }): void {
    this.#routing = doubts.links === this.#doubts.links ? routing : null;
    this.#ruleset = doubts.ruleset === this.#doubts.ruleset ? ruleset : null;
  }

  /** Somebody may have changed the host, or what is ours as well: the next look reads it. */
  distrust(subject: DriftSubject): void {
    if (subject === 'ours' || subject === 'host') this.#facts = null;
    if (subject === 'skeleton') this.#isSkeletonInDoubt = true;
    if (subject === 'ours' || subject === 'links') {
      this.#doubts.links += 1;
      this.#routing = null;
    }
    if (subject === 'ours' || subject === 'ruleset') {
      this.#doubts.ruleset += 1;
      this.#ruleset = null;
    }
  }

  /** Whether a change of the table is one of this agent's latest, by the process id of its nft. */
  isOwnCommit(processId: number): boolean {
    return this.#commits.includes(processId);
  }

  /** Metrics are read beside the looks: what somebody has read, no counter falls short of. */
  counted(set: SetName, key: string, portMap: string, counter: Counter): void {
    this.#counters.note(set, key, elementComment(portMap), counter);
  }

  /**
   * @returns null when nothing had to be done: no command that writes has been run then
   * @throws CommandError, AggregateError; the next look reads everything
   */
  async apply(plan: NodePlan, host: HostFacts): Promise<Applied | null> {
    const begin = performance.now();
    const doubts = { ...this.#doubts };
    const [routing, ruleset] = await Promise.all([
      this.#routing ?? observeRouting(),
      this.#ruleset ?? observeRuleset(),
    ]);
    const have: Observed = { ...routing, ...ruleset };
    const change = await this.#changeTo(plan, have);
    if (!change.isNewTable && have.isOurs) this.#baseline ??= have.skeleton;
    const left = this.#hasLooked ? this.#left : null;
    this.#hasLooked = false;
    if (isNoChange(change) && this.#outstanding.size === 0) {
      this.#trust(routing, ruleset, doubts);
      this.#left = plan;
      return null;
    }
    const repairs = left === null ? [] : repairsOf(difference(have, left, this.#baseline));
    // Until all of it is done, nobody knows what the kernel holds.
    this.#routing = null;
    this.#ruleset = null;
    this.#left = null;
    for (const each of changedDeliveries(this.#deliveriesBefore(have, host), plan.deliveries))
      this.#outstanding.set(changeKey(each), each);
    await applyChange(change, (processId) => {
      this.#commits.push(processId);
      this.#commits.splice(0, this.#commits.length - rememberedCommits);
    });
    const deleted = await this.#deleteStale(plan, host);
    if (change.isNewTable) this.#baseline = (await observeRuleset()).skeleton;
    const expected = expectedAfter(plan, this.#baseline);
    this.#trust(expected.routing, expected.ruleset, doubts);
    this.#left = plan;
    return { change, deleted, repairs, duration: performance.now() - begin };
  }

  async #changeTo(plan: NodePlan, have: Observed): Promise<Change> {
    const sets = elementsOf(plan);
    this.#counters.noteAll(have.sets);
    // Where somebody has taken the elements away, what was read before has to do.
    if (have.skeleton !== null) await this.#counters.readReplaced(have.sets, sets).catch(() => undefined);
    const change = difference(have, plan, this.#baseline, this.#counters.seed(sets));
    this.#counters.forgetOthers(sets);
    return change;
  }

  #deliveriesBefore(have: Observed, host: HostFacts): Delivery[] {
    const addresses = new Map(host.interfaces.map((each) => [each.name, each.addresses]));
    for (const link of have.links)
      addresses.set(
        link.device,
        link.addresses.map((each) => each.split('/')[0] ?? ''),
      );
    return deliveriesOf(have.sets, (device) => addresses.get(device) ?? []);
  }

  async #deleteStale(plan: NodePlan, host: HostFacts): Promise<ConntrackEntry[]> {
    const own = [...host.interfaces.flatMap((each) => each.addresses), ...plan.links.map((link) => link.address)];
    const changes = upToDate([...this.#outstanding.values()], plan.deliveries);
    const deleted = await deleteStale(changes, own);
    this.#outstanding.clear();
    return deleted;
  }
}

/** What the kernel holds once a plan has been applied. */
function expectedAfter(
  plan: NodePlan,
  skeleton: string | null,
): { routing: ObservedRouting; ruleset: ObservedRuleset } {
  const { links, rules, routes } = routingOf(plan);
  const sets = elementsOf(plan);
  const routing = {
    links: links.map((link) => ({
      device: link.device,
      isUp: true,
      mtu: link.mtu,
      mac: linkMac(link),
      vxlan: { vni: link.vni, port: link.port, local: link.underlayAddress, remote: link.peerUnderlayAddress, ttl: 64 },
      addresses: [`${link.address}/31`],
      rpFilter: 2,
    })),
    rules,
    routes,
  };
  const ruleset = {
    sets,
    idleTimeouts: heldIdleTimeouts(idleTimeoutsOf(plan.deliveries)),
    skeleton: isEmpty(sets) ? null : skeleton,
    isOurs: !isEmpty(sets),
  };
  return { routing, ruleset };
}
