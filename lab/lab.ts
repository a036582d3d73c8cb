/** A lab: a topology on a backend, with CNI, neighbours, Kubernetes API, agents and workload. What scenarios drive. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agents } from './agents.ts';
import type { Backend } from './backends/backend.ts';
import type { Host } from './backends/host.ts';
import { HolderConnection } from './backends/netns/holder-connection.ts';
import { hasLastCommand } from './backends/netns/last-command.ts';
import { type LaunchedHolder, launchHolder } from './backends/netns/launch.ts';
import {
  isAlive,
  isRunning,
  listLabs,
  readHolderRecord,
  removeStateFolder,
  stateFolder,
} from './backends/netns/state-folder.ts';
import { attachedBackend, type BackendRequest, isOutside, newBackend } from './backends/request.ts';
import { ClusterClient } from './cluster/client.ts';
import type { CniNode } from './cni/cni-node.ts';
import { cniNodes } from './cni/cni-nodes.ts';
import { agentUser, apiSocketName, type ControlPlane, startControlPlane } from './control-plane.ts';
import { wholeNodeSetup } from './neighbours/node-setup.ts';
import { type NeighbourName, neighbourNames } from './neighbours/registry.ts';
import { awaitMesh, buildMesh, buildUnderlay } from './network/build.ts';
import { applyHostSetup } from './network/host-setup.ts';
import { hostsOf, routerName } from './network/segments.ts';
import { measurePace, Pace } from './pace.ts';
import { type Phase, Phases } from './phases.ts';
import type { LabState } from './state.ts';
import type { Client, LabNode, Topology } from './topology/topology.ts';
import { waitFor } from './wait.ts';
import { Workload } from './workload/workload.ts';

export interface LabOptions {
  name: string;
  topology: Topology;
  /** What hosts are made of. Default: namespaces. */
  backend?: BackendRequest;
  neighbours?: readonly NeighbourName[];
  /** Start an agent on every node. Default true. */
  agents?: boolean;
  /** Told as each phase of start-up ends. */
  onPhase?(phase: Phase): void;
  /** Told as soon as there are hosts, so that a failed start can be looked into. */
  onHosts?(hosts: Host[]): void;
  /** Called when start-up has failed, while what has been made so far is still there. */
  onFailure?(error: Error): Promise<void>;
}

/** Agents connect, list and make their first pass well within this, in milliseconds. */
const agentsReadyMs = 15_000;
/** The API server listens within 0.3 s; this is for a loaded machine. Milliseconds. */
const apiServerReadyMs = 10_000;

export class Lab {
  readonly state: LabState;
  /** True for a lab that another command brought up: it is not this one's to end. */
  readonly attached: boolean;
  readonly backend: Backend;
  readonly cluster: ClusterClient;
  readonly agents: Agents;
  readonly workload: Workload;
  readonly nodes: ReadonlyMap<string, CniNode>;
  readonly pace: Pace;
  readonly #connection: HolderConnection;
  readonly #holder: LaunchedHolder | null;

  private constructor(
    state: LabState,
    backend: Backend,
    cluster: ClusterClient,
    agents: Agents,
    connection: HolderConnection,
    holder: LaunchedHolder | null,
  ) {
    this.state = state;
    this.backend = backend;
    this.cluster = cluster;
    this.agents = agents;
    this.#connection = connection;
    this.#holder = holder;
    this.attached = holder === null;
    this.nodes = cniNodes(state.topology);
    this.pace = new Pace(state.pace);
    this.workload = new Workload(backend, cluster, this.nodes);
  }

  /**
   * Boots a lab. It ends with this process unless `letGo` is called.
   * @throws LabExistsError, or an Error that names the phase; nothing is left then
   */
  static async up(options: LabOptions): Promise<Lab> {
    const { name, topology } = options;
    const neighbours = options.neighbours ?? neighbourNames;
    const phases = new Phases((phase) => options.onPhase?.(phase));
    const holder = await phases.run('namespaces', () =>
      launchHolder(name, options.backend !== undefined && isOutside(options.backend)),
    );
    try {
      const backend = newBackend(name, holder.connection, options.backend ?? { kind: 'netns' }, topology);
      await phases.run('hosts', () => backend.createHosts(hostsOf(topology)));
      options.onHosts?.(backend.hosts());
      await phases.run('cables and NAT', () => buildUnderlay(backend, topology));
      const pace =
        backend.kind === 'netns'
          ? 1
          : await phases.run('pace', () => measurePace(topology.nodes.map((node) => backend.host(node.name))));
      // The API server needs no mesh to start: the two take their time side by side.
      const starting = startControlPlane(backend, topology, new Pace(pace).time(apiServerReadyMs));
      starting.catch(() => undefined);
      const wireguard = await phases.run('mesh', async () => {
        const kinds = await buildMesh(backend, topology);
        await awaitMesh(backend, topology);
        return kinds;
      });
      await phases.run('CNI and neighbours', () => buildNodes(backend, topology, neighbours));
      const plane: ControlPlane = await phases.run('API server', () => starting);
      const agents = new Agents(backend);
      if (options.agents !== false) {
        await phases.run('agents', async () => {
          await Promise.all(
            topology.nodes.map((node) => agents.start(node.name, plane.kubeconfigFor(agentUser(node.name)))),
          );
          await agents.ready(new Pace(pace).time(agentsReadyMs));
        });
      }
      const state: LabState = {
        name,
        startedAt: new Date().toISOString(),
        topology,
        backend: backend.kind,
        wireguard,
        hosts: backend.hosts().map((host) => ({
          name: host.name,
          role: host.role,
          substance: backend.substanceOf(host.name),
        })),
        pace,
        agents: agents.pids,
        neighbours: [...neighbours],
        phases: phases.done,
        adminKubeconfig: plane.kubeconfigFor('admin'),
      };
      await holder.connection.request('setState', { state });
      return new Lab(state, backend, plane.client, agents, holder.connection, holder);
    } catch (error) {
      await options.onFailure?.(error as Error).catch(() => undefined);
      await endHolder(holder.connection, name);
      throw error;
    }
  }

  /**
   * A lab that is already up.
   * @throws Error naming the labs there are
   */
  static async attach(name: string): Promise<Lab> {
    const folder = stateFolder(name);
    if (!isAlive(folder)) {
      const others = listLabs().filter((lab) => lab.alive);
      const there = others.length === 0 ? 'no lab is up' : `up are ${others.map((lab) => lab.name).join(', ')}`;
      throw new Error(`no lab named "${name}" is up (${there}): start it with \`lab up --name ${name}\``);
    }
    const connection = await HolderConnection.open(`${folder}/holder.sock`);
    const { state } = (await connection.request('getState', {})) as { state: LabState | null };
    if (state === null) {
      connection.close();
      throw new Error(`lab "${name}" is still starting`);
    }
    const backend = await attachedBackend(name, connection, state.backend, state.hosts);
    const agents = new Agents(backend);
    agents.adopt(state.agents);
    return new Lab(
      state,
      backend,
      new ClusterClient({ socketPath: `${folder}/${apiSocketName}` }),
      agents,
      connection,
      null,
    );
  }

  get topology(): Topology {
    return this.state.topology;
  }

  host(name: string): Host {
    return this.backend.host(name);
  }

  node(name: string): LabNode {
    const node = this.topology.nodes.find((each) => each.name === name);
    if (node === undefined)
      throw new Error(
        `no node is named "${name}": there are ${this.topology.nodes.map((each) => each.name).join(', ')}`,
      );
    return node;
  }

  clients(): Client[] {
    return this.topology.clients;
  }

  /** The address under which the rest of the internet sees a client: its own, or its router's. */
  publicAddress(client: Client): string {
    const site = this.topology.sites.find((each) => each.name === client.site);
    return site?.router ?? client.address;
  }

  /** The router a host is behind, or null. */
  routerOf(site: string): Host | null {
    const found = this.topology.sites.find((each) => each.name === site);
    return found?.router === undefined ? null : this.backend.host(routerName(found));
  }

  /** Tells the holder which agents run now: scenarios end some and start others, and a later command adopts them. */
  async saveAgents(): Promise<void> {
    await this.#connection.request('setState', { state: { ...this.state, agents: this.agents.pids } });
  }

  /** Lets the lab go on without this process. */
  async letGo(): Promise<void> {
    await this.saveAgents();
    await this.#holder?.letGo();
    this.#connection.close();
  }

  /** Ends this process's connection; the lab stays as it is. */
  disconnect(): void {
    this.#connection.close();
  }

  /** Ends the lab and everything in it, and waits until it is gone. */
  async down(): Promise<void> {
    await endHolder(this.#connection, this.state.name);
  }
}

/** Ends a lab, waits until its processes are gone, and removes what a holder that was killed could not remove. */
async function endHolder(connection: HolderConnection, name: string): Promise<void> {
  // Read first: the holder removes its folder while the other processes of the lab are still to end.
  const record = readHolderRecord(stateFolder(name));
  await connection.request('shutdown', {}).catch(() => undefined);
  await connection.closed;
  const isGone = async (): Promise<true | undefined> => (record !== null && isRunning(record) ? undefined : true);
  await waitFor(`the processes of lab "${name}" to end`, isGone, { timeoutMs: 5000, intervalMs: 5 });
  const folder = stateFolder(name);
  if (hasLastCommand(folder)) {
    const said = readFileSync(join(folder, 'holder.log'), 'utf8').trim().slice(-3000);
    throw new Error(`lab "${name}" has ended, but not all it made is gone; \`lab gc\` tries again\n${said}`);
  }
  removeStateFolder(name);
}

async function buildNodes(backend: Backend, topology: Topology, neighbours: readonly NeighbourName[]): Promise<void> {
  const all = [...cniNodes(topology).values()];
  const cluster = { clusterCidr: topology.pods.cidr, neighbours };
  await Promise.all(
    all.map((node) => {
      const peers = all.filter((other) => other !== node);
      return applyHostSetup(backend.host(node.name), wholeNodeSetup(node, peers, cluster));
    }),
  );
}
