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
import { readHostFacts } from './host.ts';
import { heldIdleTimeouts, idleTimeoutsOf } from './idle-timeouts.ts';
import { readIpState } from './ip-json.ts';
import { linkMarksOf, type Observed, observe, observeRouting, observeRuleset } from './observe.ts';
import { linkMac, routingOf } from './routing.ts';
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
  readonly #counters = new CounterMemory();
  /** Changes whose stale conntrack entries are still to be deleted: kept until that has succeeded. */
  readonly #outstanding = new Map<string, DeliveryChange>();
  /** Counts the times of being told that the kernel may differ: a look that began before the latest is void. */
  #doubts = 0;

  /** What the host looks like now; read again only when it may have changed. @throws CommandError */
  async look(): Promise<HostFacts> {
    if (this.#known !== null && this.#facts !== null && performance.now() - this.#facts.readAt < factsLifetime)
      return { ...this.#facts.value, linkMarks: linkMarksOf(this.#known) };
    const readAt = performance.now();
    const doubts = this.#doubts;
    const ip = await readIpState();
    const known = this.#known;
    const [value, observed] = await Promise.all([
      readHostFacts(ip),
      // Reading thousands of elements takes longer than all the rest: only when they are in doubt.
      known === null ? observe(ip) : observeRouting(ip).then((routing) => ({ ...known, ...routing })),
    ]);
    this.#facts = { value, readAt };
    if (known === null) this.#counters.noteAll(observed.sets);
    this.#known = doubts === this.#doubts ? observed : null;
    return value;
  }

  /** Somebody may have changed the host, or what is ours as well: the next look reads it. */
  distrust(subject: DriftSubject): void {
    this.#doubts += 1;
    this.#facts = null;
    if (subject === 'ours') this.#known = null;
  }

  /**
   * @returns null when nothing had to be done: no command that writes has been run then
   * @throws CommandError, AggregateError; the next look reads everything
   */
  async apply(plan: NodePlan, host: HostFacts): Promise<Applied | null> {
    const begin = performance.now();
    const doubts = this.#doubts;
    const have = this.#known ?? (await observe());
    this.#counters.noteAll(have.sets);
    const sets = elementsOf(plan);
    // Where somebody has taken the elements away, what was read before has to do.
    if (have.skeleton !== null) await this.#counters.readReplaced(have.sets, sets).catch(() => undefined);
    const change = difference(have, plan, this.#baseline, this.#counters.seed(sets));
    this.#counters.forgetOthers(sets);
    if (!change.isNewTable && have.isOurs) this.#baseline ??= have.skeleton;
    if (isNoChange(change) && this.#outstanding.size === 0) {
      this.#known = doubts === this.#doubts ? have : null;
      return null;
    }
    // Until all of it is done, nobody knows what the kernel holds.
    this.#known = null;
    for (const each of changedDeliveries(this.#deliveriesBefore(have, host), plan.deliveries))
      this.#outstanding.set(changeKey(each), each);
    await applyChange(change);
    const deleted = await this.#deleteStale(plan, host);
    if (change.isNewTable) this.#baseline = (await observeRuleset()).skeleton;
    this.#known = doubts === this.#doubts ? expected(plan, this.#baseline) : null;
    return { change, deleted, duration: performance.now() - begin };
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
function expected(plan: NodePlan, skeleton: string | null): Observed {
  const { links, rules, routes } = routingOf(plan);
  const sets = elementsOf(plan);
  return {
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
    sets,
    idleTimeouts: heldIdleTimeouts(idleTimeoutsOf(plan.deliveries)),
    skeleton: isEmpty(sets) ? null : skeleton,
    isOurs: !isEmpty(sets),
  };
}
