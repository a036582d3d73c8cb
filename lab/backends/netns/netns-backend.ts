/** Hosts as network namespaces inside one holder: a node boots in the time of a process. */
import { join } from 'node:path';
import type { Segment } from '../../network/segments.ts';
import { projectRoot } from '../../project.ts';
import { StationClient } from '../../station/client.ts';
import type { Backend, BackendKind, Substance } from '../backend.ts';
import type { Host, HostRole, Installation } from '../host.ts';
import { StationHost } from '../station-host.ts';
import { enterNamespace } from './enter-namespace.ts';
import type { HolderConnection } from './holder-connection.ts';
import type { NamespaceStart } from './holder-protocol.ts';
import { stateFolder } from './state-folder.ts';
import { wireLines } from './wires.ts';

/** The host that is the lab's own namespace: namespaces and the wires between them are made there. */
const ground = 'lab';

export function podHostName(pod: string): string {
  return `pod-${pod}`;
}

/** This process's own: namespaces share its file system. */
const ownInstallation: Installation = { node: [process.execPath], root: projectRoot };

export class NetnsBackend implements Backend {
  readonly kind: BackendKind = 'netns';
  protected readonly connection: HolderConnection;
  /** Name of the lab. */
  protected readonly lab: string;
  readonly #hosts = new Map<string, Host>();

  constructor(lab: string, connection: HolderConnection) {
    this.lab = lab;
    this.connection = connection;
  }

  /** The hosts of a lab that another driver brought up. `machine` is the virtual machine a host is, or is on. */
  adopt(hosts: readonly { name: string; role: HostRole; machine: string | null }[]): void {
    this.registerNamespace(ground, 'internet');
    for (const { name, role } of hosts) this.registerNamespace(name, role);
  }

  /** Runs where links between namespaces are made. */
  get ground(): Host {
    return this.host(ground);
  }

  /** Where the lab keeps its sockets. */
  protected get folder(): string {
    return stateFolder(this.lab);
  }

  async createHosts(wanted: readonly { name: string; role: HostRole }[]): Promise<void> {
    await this.createNamespaces(wanted.map((host) => host.name));
    await this.startStations(wanted);
    this.registerAll(wanted);
  }

  protected async createNamespaces(names: readonly string[]): Promise<void> {
    await this.startNamespace({ host: ground, networkNamespace: null, ownMounts: false });
    this.registerNamespace(ground, 'internet');
    await this.#addNamespaces(names);
  }

  protected async startStations(wanted: readonly { name: string; role: HostRole }[]): Promise<void> {
    await Promise.all(
      wanted.map(async ({ name, role }) => {
        const ownMounts = role === 'node' || role === 'control';
        await this.startNamespace({ host: name, networkNamespace: name, ownMounts });
      }),
    );
  }

  /** In the order of the topology, whichever station was up first. */
  protected registerAll(wanted: readonly { name: string; role: HostRole }[]): void {
    for (const { name, role } of wanted) this.registerNamespace(name, role);
  }

  async connect(segments: readonly Segment[]): Promise<void> {
    const lines = wireLines(segments, (host) => this.substanceOf(host) === 'machine');
    const batch = (host: Host, list: readonly string[]): Promise<unknown> =>
      host.exec(['ip', '-batch', '-'], { input: `${list.join('\n')}\n` });
    await batch(this.ground, lines.ground);
    await Promise.all([...lines.hosts].map(([host, list]) => batch(this.host(host), list)));
  }

  async createPod(_node: string, pod: string): Promise<Host> {
    const name = podHostName(pod);
    await this.#addNamespaces([name]);
    await this.startNamespace({ host: name, networkNamespace: name, ownMounts: false });
    return this.registerNamespace(name, 'pod');
  }

  async removePod(pod: string): Promise<void> {
    const name = podHostName(pod);
    await this.connection.request('stopStation', { host: name });
    this.forget(name);
    await this.ground.exec(['ip', 'netns', 'del', name]);
  }

  async shareSocket(_host: string, name: string): Promise<{ there: string; here: string }> {
    const path = join(this.folder, name);
    return { there: path, here: path };
  }

  async enter(host: string, argv: readonly string[]): Promise<number> {
    const { pid } = await this.host(host).station.request('ping', {});
    return enterNamespace(this.lab, host, pid, argv);
  }

  substanceOf(_host: string): Substance {
    return 'namespace';
  }

  host(name: string): Host {
    const host = this.#hosts.get(name);
    if (host === undefined) {
      const known = this.hosts().map((each) => each.name);
      throw new Error(`no host is named "${name}" in this lab: there are ${known.join(', ')}`);
    }
    return host;
  }

  hosts(): Host[] {
    return [...this.#hosts.values()].filter((host) => host.name !== ground);
  }

  async #addNamespaces(names: readonly string[]): Promise<void> {
    await this.ground.exec(['ip', '-batch', '-'], { input: names.map((name) => `netns add ${name}\n`).join('') });
  }

  /** Starts the station of a host that is a namespace; others keep their namespaces elsewhere. */
  protected async startNamespace(start: NamespaceStart): Promise<void> {
    await this.connection.request('startStation', start);
  }

  protected registerNamespace(name: string, role: HostRole): Host {
    return this.register(name, role);
  }

  /** @param commandMs milliseconds a command may take there unless it says otherwise */
  protected register(name: string, role: HostRole, installation = ownInstallation, commandMs = 10_000): Host {
    const station = new StationClient(name, this.connection.stationTransport(name), commandMs + 5000);
    const host = new StationHost(name, role, station, installation, commandMs);
    this.#hosts.set(name, host);
    return host;
  }

  protected forget(name: string): void {
    this.#hosts.delete(name);
  }
}
