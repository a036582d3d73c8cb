/** What a scenario works with: a lab that is up, objects and pods that are cleared away after it, and a record. */
import type { Host } from '../backends/host.ts';
import type { Fault } from '../cluster/faults.ts';
import { type Capture, startCapture } from '../evidence/capture.ts';
import { compare, difference, hasMoved, snapshotCounters } from '../evidence/counters.ts';
import type { CounterRow, Story } from '../evidence/results.ts';
import type { Lab } from '../lab.ts';
import { neighbourAbsence } from '../neighbours/absence.ts';
import type { NeighbourName } from '../neighbours/registry.ts';
import { applyHostSetup } from '../network/host-setup.ts';
import type { Pace } from '../pace.ts';
import type { ProbeResult, Protocol } from '../station/protocol.ts';
import type { Client } from '../topology/topology.ts';
import { waitFor } from '../wait.ts';
import type { PodPort } from '../workload/objects.ts';
import type { Pod, PodRequest } from '../workload/workload.ts';
import { ApiFault } from './api-fault.ts';
import {
  type ClassRequest,
  classObject,
  condition,
  kuportApiVersion,
  type PortMapObject,
  type PortMapRequest,
  portMapObject,
} from './kuport-objects.ts';
import { exchangeRecord, formatTarget, type ProbeOptions, Record, type Target } from './record.ts';
import { Teardown } from './teardown.ts';
import { type WitnessOptions, witness } from './witness.ts';

/** An agent that has a change in hand is done in tens of milliseconds; this is for a loaded machine. */
const programmedMs = 5000;

/** How long one probe waits while a scenario waits for a first delivery: many short looks tell when it came. Milliseconds. */
const lookMs = 100;

/** In namespaces: three times the slowest answer seen in the lab, in milliseconds. */
const shortestSilenceMs = 400;

export interface Moved {
  rows: Map<string, CounterRow[]>;
  /** Packets by which the counters whose subject contains `subject` have moved on that host. Throws when there is none. */
  packets(host: string, subject: string): number;
}

export class ScenarioContext {
  readonly lab: Lab;
  /** Kubernetes namespace of this scenario's objects. */
  readonly namespace: string;
  readonly record: Record;
  readonly teardown = new Teardown();
  readonly captures: Capture[] = [];
  /** The first hop where something went otherwise than it should, once something has. */
  diagnosis: string | undefined;
  readonly #toldKinds = new Set<string>();

  constructor(lab: Lab, namespace: string) {
    this.lab = lab;
    this.record = new Record(lab.pace);
    this.namespace = namespace;
  }

  get pace(): Pace {
    return this.lab.pace;
  }

  /** A silence long enough to mean something, in milliseconds: three times the slowest answer this scenario has had. */
  get silenceMs(): number {
    const slowest = Math.max(0, ...this.record.exchanges.map((exchange) => exchange.roundTripMs ?? 0));
    return Math.max(shortestSilenceMs, Math.ceil(3 * slowest));
  }

  host(name: string): Host {
    return this.lab.host(name);
  }

  clients(): Client[] {
    return this.lab.clients();
  }

  /** Runs at the end of the scenario, however it ends, in reverse order. */
  defer(name: string, undo: () => Promise<unknown>): void {
    this.teardown.add(name, undo);
  }

  async pod(request: Omit<PodRequest, 'namespace' | 'name'> & { name?: string }): Promise<Pod> {
    const name = `${this.namespace}-${request.name ?? request.app ?? 'echo'}`;
    const pod = await this.lab.workload.startPod({
      ...request,
      app: request.app ?? 'echo',
      namespace: this.namespace,
      name,
    });
    this.defer(`pod ${name}`, () => this.lab.workload.stopPod(pod));
    return pod;
  }

  async service(name: string, ports: readonly PodPort[]): Promise<void> {
    await this.lab.workload.createService(this.namespace, name, ports);
    this.defer(`Service ${name}`, () => this.lab.workload.deleteService(this.namespace, name));
  }

  async portMapClass(request: ClassRequest): Promise<void> {
    await this.lab.cluster.apply(classObject(request));
    this.defer(`PortMapClass ${request.name}`, () =>
      this.lab.cluster.delete(kuportApiVersion, 'PortMapClass', request.name),
    );
  }

  async portMap(request: Omit<PortMapRequest, 'namespace'>): Promise<void> {
    await this.lab.cluster.apply(portMapObject({ ...request, namespace: this.namespace }));
    this.defer(`PortMap ${request.name}`, () =>
      this.lab.cluster.delete(kuportApiVersion, 'PortMap', request.name, this.namespace),
    );
  }

  getPortMap(name: string): Promise<PortMapObject> {
    return this.lab.cluster.get<PortMapObject>(kuportApiVersion, 'PortMap', name, this.namespace);
  }

  /**
   * Waits for a condition of a mapping, judged by its present spec.
   * @throws Error with the conditions it has instead
   */
  async conditionOf(name: string, type: string, status: 'True' | 'False', reason?: string): Promise<PortMapObject> {
    return waitFor(
      `PortMap ${this.namespace}/${name} to have ${type}=${status}${reason === undefined ? '' : ` (${reason})`}`,
      async () => {
        const object = await this.getPortMap(name);
        const found = condition(object, type);
        if (
          found?.status === status &&
          (reason === undefined || found.reason === reason) &&
          found.observedGeneration === object.metadata.generation
        ) {
          return object;
        }
        const has = object.status?.conditions
          ?.map((each) => `${each.type}=${each.status} ${each.reason}: ${each.message}`)
          .join('; ');
        throw new Error(`it has ${has ?? 'no condition yet'}`);
      },
      { timeoutMs: this.pace.time(programmedMs) },
    );
  }

  /** Waits until the mapping is Programmed with this pod as its endpoint. */
  async programmed(name: string, pod: Pod): Promise<PortMapObject> {
    return waitFor(
      `PortMap ${this.namespace}/${name} to lead to pod ${pod.record.name} on ${pod.record.node}`,
      async () => {
        const object = await this.conditionOf(name, 'Programmed', 'True');
        const { endpoint } = object.status ?? {};
        if (endpoint?.pod === pod.record.name && endpoint.node === pod.record.node) return object;
        throw new Error(`its endpoint is ${endpoint?.pod ?? 'none'} on ${endpoint?.node ?? '?'}`);
      },
      { timeoutMs: this.pace.time(programmedMs) },
    );
  }

  exchange(client: Client, target: Target, options: ProbeOptions = {}): Promise<ProbeResult> {
    return this.record.exchange(this.host(client.name), client.address, target, options);
  }

  /**
   * The whole promise for one exchange: answered, from the address that was dialled, by that pod, which saw the client's
   * own public address (and, where no NAT stands before the client, its port).
   */
  async delivers(client: Client, target: Target, pod: Pod, options: ProbeOptions = {}): Promise<ProbeResult> {
    const title = `${client.name} ${formatTarget(target)}`;
    const checksBefore = this.record.checks.length;
    const result = await this.#told('delivery', client, target, options, pod);
    this.#isWhatItPromises(title, client, target, pod, result);
    if (this.record.checks.slice(checksBefore).some((check) => !check.ok))
      await this.#lookInto(client, target, pod, options);
    return result;
  }

  #isWhatItPromises(title: string, client: Client, target: Target, pod: Pod, result: ProbeResult): void {
    const { record } = this;
    if (!record.same('assertion', `${title} is answered`, 'answered', result.outcome)) return;
    record.same(
      'assertion',
      `${title}: the answer comes from the dialled address`,
      `${target.address}:${target.port}`,
      `${result.from}:${result.fromPort}`,
    );
    record.same('assertion', `${title}: answered by`, pod.record.name, result.reply?.pod ?? null);
    const seen = this.lab.publicAddress(client);
    if (seen === client.address) {
      record.same(
        'assertion',
        `${title}: the pod sees the client's address and port`,
        `${seen}:${result.sourcePort}`,
        `${result.reply?.peer}:${result.reply?.peerPort}`,
      );
    } else
      record.same('assertion', `${title}: the pod sees the client's public address`, seen, result.reply?.peer ?? null);
  }

  /** An exchange; the first of its kind in a scenario is also told hop by hop. */
  async #told(
    kind: 'delivery' | 'silence',
    client: Client,
    target: Target,
    options: ProbeOptions,
    pod?: Pod,
  ): Promise<ProbeResult> {
    if (this.#toldKinds.has(kind)) return this.exchange(client, target, options);
    this.#toldKinds.add(kind);
    const others = this.record.exchanges.length;
    const title = options.note ?? `${client.name} ${formatTarget(target)}`;
    const { result, story } = await this.#witness({ title, client, target, pod: pod?.record }, options);
    // What others sent meanwhile has moved the same counters: such a story would be about all of them.
    if (this.record.exchanges.length === others + 1) this.record.stories.push(story);
    return result;
  }

  #witness(about: WitnessOptions, options: ProbeOptions): Promise<{ result: ProbeResult; story: Story }> {
    const { client, target } = about;
    return witness(this.lab, about, async () => {
      const result = await this.exchange(client, target, options);
      return { result, record: exchangeRecord(client.name, client.address, target, result, options.note) };
    });
  }

  /** After a first failure: the same exchange once more, told hop by hop, unless the failed one already was. */
  async #lookInto(client: Client, target: Target, pod: Pod, options: ProbeOptions): Promise<void> {
    if (this.diagnosis !== undefined) return;
    let story = this.record.stories.find((each) => each.difference !== undefined);
    if (story === undefined) {
      const title = 'the same once more, to see how far it gets';
      const about = { title, client, target, pod: pod.record, thorough: true };
      ({ story } = await this.#witness(about, { ...options, note: title }));
      this.record.stories.push(story);
    }
    this.diagnosis =
      story.difference ?? 'the same exchange right after it went as it should: what was wrong has passed';
  }

  /** A delivery that the rest of the scenario relies on: when it fails, nothing else here means anything. */
  async control(client: Client, target: Target, pod: Pod, note: string): Promise<void> {
    const result = await this.#told('delivery', client, target, { note }, pod);
    const seen = this.lab.publicAddress(client);
    const ok =
      result.outcome === 'answered' &&
      result.reply?.pod === pod.record.name &&
      result.reply.peer === seen &&
      result.from === target.address;
    const was =
      result.outcome === 'answered'
        ? `${result.reply?.pod} saw ${result.reply?.peer}, answer from ${result.from}`
        : result.outcome;
    this.record.check(
      'positive control',
      `${note}: ${client.name} ${formatTarget(target)}`,
      `${pod.record.name} saw ${seen}, answer from ${target.address}`,
      was,
      ok,
    );
    if (!ok) await this.#lookInto(client, target, pod, {});
  }

  /** Nothing must come back. Meaningless without a control beside it. */
  async silent(client: Client, target: Target, why: string): Promise<ProbeResult> {
    const result = await this.#told('silence', client, target, { timeoutMs: this.silenceMs, note: why });
    this.record.same('negative', `${client.name} ${formatTarget(target)}: ${why}`, 'timeout', result.outcome);
    return result;
  }

  /**
   * Probes until the mapping delivers for the first time: what a node on the way is still about to program shows in the
   * time it takes, which is recorded.
   * @returns milliseconds
   */
  async awaitDelivery(client: Client, target: Target, pod: Pod): Promise<number> {
    const begin = performance.now();
    await waitFor(
      `${client.name} to reach ${pod.record.name} by ${formatTarget(target)}`,
      async () => {
        const result = await this.exchange(client, target, {
          timeoutMs: this.pace.packets(lookMs),
          note: 'waiting for the first delivery',
        });
        if (result.reply?.pod === pod.record.name && result.from === target.address) return true;
        throw new Error(
          `last probe: ${result.outcome}${result.reply === null ? '' : `, ${result.reply.pod} by way of ${result.from}`}`,
        );
      },
      { timeoutMs: this.pace.time(programmedMs), restFactor: 0 },
    ).catch(async (error: unknown) => {
      await this.#lookInto(client, target, pod, {});
      throw error;
    });
    const took = Math.round(performance.now() - begin);
    this.record.check(
      'positive control',
      `first delivery from ${client.name} by ${formatTarget(target)}`,
      `within ${this.pace.time(programmedMs)} ms`,
      `after ${took} ms`,
      true,
    );
    return took;
  }

  /** Waits until the pod sees the first client again after agents have mended something. */
  async seesClientAgain(target: Target, pod: Pod): Promise<void> {
    const [client] = this.clients();
    if (client === undefined) throw new Error('the topology has no client');
    const seen = this.lab.publicAddress(client);
    await waitFor(
      `pod ${pod.record.name} to see ${seen} again`,
      async () => {
        const result = await this.exchange(client, target, {
          timeoutMs: this.pace.packets(lookMs),
          note: 'waiting for the agent to mend it',
        });
        if (result.reply?.peer === seen) return true;
        throw new Error(`it saw ${result.reply?.peer ?? result.outcome}`);
      },
      { timeoutMs: this.pace.time(programmedMs), restFactor: 0 },
    );
  }

  /** Counters of hosts before and after `work`; the moved ones go into the record. */
  async moved(about: string, hosts: readonly string[], work: () => Promise<unknown>): Promise<Moved> {
    const read = (): Promise<Awaited<ReturnType<typeof snapshotCounters>>[]> =>
      Promise.all(hosts.map((name) => snapshotCounters(this.host(name))));
    const before = await read();
    await work();
    const after = await read();
    const rows = new Map<string, CounterRow[]>();
    hosts.forEach((name, index) => {
      const [a, b] = [before[index], after[index]];
      if (a === undefined || b === undefined) return;
      rows.set(name, compare(a, b));
      this.record.counters.push({ ...difference(a, b), about });
    });
    return {
      rows,
      packets: (host, subject) => {
        const found = (rows.get(host) ?? []).filter((row) => row.subject.includes(subject));
        if (found.length === 0) throw new Error(`${host} has no counter "${subject}"`);
        return found.filter(hasMoved).reduce((sum, row) => sum + row.after.packets - row.before.packets, 0);
      },
    };
  }

  /**
   * Captures packets from now until the scenario ends or `stop` is called; the file is part of a failure's evidence.
   * @param filter in tcpdump's words
   */
  async capture(host: string, device: string, filter: string): Promise<Capture> {
    const capture = await startCapture(this.host(host), device, filter);
    this.captures.push(capture);
    this.defer(`capture on ${host}`, () => capture.stop());
    return capture;
  }

  /** From now on, requests to the API server that fit meet this instead of an answer, until it is lifted. */
  async apiFault(fault: Fault): Promise<ApiFault> {
    const handle = await ApiFault.set(this.lab.cluster, fault);
    this.defer(`API fault ${fault.effect}`, () => handle.lift());
    return handle;
  }

  /** Takes a neighbour's rules off every node until `work` is done. */
  async withoutNeighbour(name: NeighbourName, work: () => Promise<void>): Promise<void> {
    const nodes = [...this.lab.nodes.values()];
    const cluster = { clusterCidr: this.lab.topology.pods.cidr };
    const each = (change: 'remove' | 'restore') =>
      Promise.all(
        nodes.map((node) => applyHostSetup(this.host(node.name), neighbourAbsence(name, node, cluster)[change])),
      );
    await each('remove');
    try {
      await work();
    } finally {
      await each('restore');
    }
  }

  /** Stops all agents until `work` is done, so that they do not mend what it breaks. */
  async withoutAgents(work: () => Promise<void>): Promise<void> {
    await this.lab.agents.pause();
    try {
      await work();
    } finally {
      await this.lab.agents.resume();
    }
  }
}

export const bothProtocols: readonly Protocol[] = ['UDP', 'TCP'];
