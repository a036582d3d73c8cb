/** A lab whose accepting node holds a given number of mappings, and what is measured on it. */
import { agentLog } from '../agents.ts';
import { Lab } from '../lab.ts';
import {
  classObject,
  condition,
  kuportApiVersion,
  type PortMapObject,
  portMapObject,
} from '../scenario/kuport-objects.ts';
import type { Topology } from '../topology/topology.ts';
import { waitFor } from '../wait.ts';
import type { LoadResult } from './load.ts';

/** One for UDP, one for TCP. */
export const fewestMappings = 2;

const namespace = 'bench';
const className = 'public';
const node = { name: 'edge-a', address: '203.0.113.9', interface: 'enp1s0' };
const echoPort = 3000;
/** Ports of the mappings that are only there. */
const firstPort = 40_000;
/** Ports of mappings that are made and removed: each once, so that no conntrack entry knows it. */
const firstChangedPort = 10_000;
const requestsAtOnce = 16;
/** For statuses of thousands of mappings, in milliseconds. */
const settledMs = 120_000;
/** For one change to be seen in packets, in milliseconds. */
const changeMs = 5000;
/** Of a probe that is neither answered nor refused, in milliseconds. */
const probeMs = 20;

/** One start of the agent on a node that holds nothing of kuport's. */
export interface Start {
  /** From the start of the process to the end of the first pass, in milliseconds. */
  readyMs: number;
  /** Of that, the writing of the whole table, in milliseconds. */
  applyMs: number;
}

function mapping(name: string, protocol: 'UDP' | 'TCP', port: number): Record<string, unknown> {
  const serviceRef = { name: 'echo', port: protocol.toLowerCase() };
  return portMapObject({ namespace, name, className, protocol, port, serviceRef });
}

export class Subject {
  readonly mappings: number;
  readonly #lab: Lab;
  #nextChangedPort = firstChangedPort;

  private constructor(lab: Lab, mappings: number) {
    this.#lab = lab;
    this.mappings = mappings;
  }

  /** @param mappings `fewestMappings` or more: the others lie beside those that are measured */
  static async boot(name: string, topology: Topology, mappings: number): Promise<Subject> {
    const lab = await Lab.up({ name, topology, agents: false });
    try {
      const subject = new Subject(lab, mappings);
      await subject.#fill();
      return subject;
    } catch (error) {
      await lab.down();
      throw error;
    }
  }

  async #fill(): Promise<void> {
    const { workload, cluster } = this.#lab;
    const ports = [
      { name: 'udp', protocol: 'UDP', port: echoPort },
      { name: 'tcp', protocol: 'TCP', port: echoPort },
    ] as const;
    await workload.createNamespace(namespace);
    await workload.startPod({ namespace, name: 'echo', node: node.name, ports });
    await workload.createService(namespace, 'echo', ports);
    await cluster.apply(
      classObject({
        name: className,
        nodes: { [node.name]: { interfaces: [node.interface] } },
        returnPath: 'None',
      }) as never,
    );
    const objects = [
      mapping('echo-udp', 'UDP', echoPort),
      mapping('echo-tcp', 'TCP', echoPort),
      ...Array.from({ length: this.mappings - 2 }, (_, n) => mapping(`beside-${n}`, 'UDP', firstPort + n)),
    ];
    await Promise.all(
      Array.from({ length: requestsAtOnce }, async () => {
        for (let object = objects.pop(); object !== undefined; object = objects.pop())
          await cluster.create(object as never);
      }),
    );
  }

  /** Starts the agent where nothing of kuport's is. An agent that runs is ended first, and what it holds removed. */
  async start(): Promise<Start> {
    const { agents, backend, state } = this.#lab;
    const host = backend.host(node.name);
    if (agents.pids[node.name] === undefined) await agents.start(node.name, state.adminKubeconfig);
    else {
      await agents.stop(node.name, 'SIGTERM');
      await host.exec([...host.installation.node, `${host.installation.root}/dist/agent.js`, 'cleanup'], {
        timeoutMs: 60_000,
      });
      await agents.restart(node.name);
    }
    await agents.ready(settledMs);
    const lines = (await host.readLog(agentLog)).split('\n').flatMap((line): Record<string, unknown>[] => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
    const ms = (message: string): number => {
      const line = lines.find((each) => each.msg === message);
      if (line === undefined) throw new Error(`${node.name}: the agent's log has no line "${message}"`);
      return Number(line.ms);
    };
    return { readyMs: ms('ready'), applyMs: ms('applied') };
  }

  /** Waits until every mapping says that it is programmed. */
  async settled(): Promise<void> {
    await waitFor(
      `${this.mappings} mappings to be programmed`,
      async () => {
        const { items } = await this.#lab.cluster.list<PortMapObject>(kuportApiVersion, 'PortMap', { namespace });
        return items.every((each) => condition(each, 'Programmed')?.status === 'True') ? true : undefined;
      },
      { timeoutMs: settledMs, intervalMs: 500 },
    );
  }

  /**
   * Makes one more mapping, of a port that nobody has dialled yet, while a client tries that port again and again; then
   * removes it.
   * @returns milliseconds from the request to the API server to the sending of the first datagram that was answered
   */
  async change(): Promise<number> {
    const { cluster } = this.#lab;
    const port = this.#nextChangedPort++;
    const name = `changed-${port}`;
    const begin = performance.now();
    const [served] = await Promise.all([
      this.#firstProbe(port, true),
      cluster.create(mapping(name, 'UDP', port) as never),
    ]);
    await cluster.delete(kuportApiVersion, 'PortMap', name, namespace);
    await this.#firstProbe(port, false);
    return served - begin;
  }

  /** @returns when the first datagram to a port was sent that was answered, or was not */
  async #firstProbe(port: number, isAnswered: boolean): Promise<number> {
    const { station } = this.#lab.backend.host('client-a');
    const begin = performance.now();
    for (;;) {
      const sentAt = performance.now();
      const { outcome } = await station.request('probe', {
        ...{ protocol: 'UDP', address: node.address, port },
        ...{ connected: true, timeoutMs: probeMs },
      });
      if ((outcome === 'answered') === isAnswered) return sentAt;
      if (sentAt - begin > changeMs) throw new Error(await this.#complaint(port, isAnswered));
    }
  }

  async #complaint(port: number, isWanted: boolean): Promise<string> {
    const log = await this.#lab.backend.host(node.name).readLog(agentLog, 2000);
    return `${node.name}: port ${port} is ${isWanted ? 'not' : 'still'} served after ${changeMs} ms; the agent's log ends with\n${log}`;
  }

  /** @param durationMs of each of the three kinds of traffic */
  async load(durationMs: number): Promise<LoadResult> {
    const client = this.#lab.backend.host('client-a');
    const { stdout } = await client.exec(
      [
        ...[...client.installation.node, `${client.installation.root}/dist/load.js`],
        ...[node.address, String(echoPort), String(durationMs)],
      ],
      { timeoutMs: 3 * durationMs + 10_000 },
    );
    return JSON.parse(stdout) as LoadResult;
  }

  /** Resident memory of the agent, in bytes. */
  async residentBytes(): Promise<number> {
    const pid = this.#lab.agents.pids[node.name];
    const { stdout } = await this.#lab.backend.host(node.name).exec(['grep', 'VmRSS', `/proc/${pid}/status`]);
    return Number(/\d+/.exec(stdout)?.[0]) * 1024;
  }

  async down(): Promise<void> {
    await this.#lab.down();
  }
}
