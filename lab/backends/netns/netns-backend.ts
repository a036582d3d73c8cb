/** Hosts as network namespaces inside one holder: a node boots in the time of a process. */
import { gatewayMac, type Segment } from '../../network/segments.ts';
import { StationClient } from '../../station/client.ts';
import type { Backend } from '../backend.ts';
import type { Host, HostRole } from '../host.ts';
import { StationHost } from '../station-host.ts';
import type { HolderConnection } from './holder-connection.ts';

/** The host that is the lab's own namespace: namespaces and the wires between them are made there. */
const ground = 'lab';

export function podHostName(pod: string): string {
  return `pod-${pod}`;
}

export class NetnsBackend implements Backend {
  readonly kind = 'netns';
  readonly #connection: HolderConnection;
  readonly #hosts = new Map<string, Host>();

  constructor(connection: HolderConnection) {
    this.#connection = connection;
  }

  /** The hosts of a lab that another driver brought up. */
  adopt(hosts: readonly { name: string; role: HostRole }[]): void {
    for (const host of [{ name: ground, role: 'internet' as const }, ...hosts]) this.#register(host.name, host.role);
  }

  /** Runs where links between namespaces are made. */
  get ground(): Host {
    return this.host(ground);
  }

  async createHosts(wanted: readonly { name: string; role: HostRole }[]): Promise<void> {
    await this.#connection.request('startStation', { host: ground, networkNamespace: null, ownMounts: false });
    this.#register(ground, 'internet');
    await this.#addNamespaces(wanted.map((host) => host.name));
    await Promise.all(
      wanted.map(async ({ name, role }) => {
        const ownMounts = role === 'node' || role === 'control';
        await this.#connection.request('startStation', { host: name, networkNamespace: name, ownMounts });
      }),
    );
    // In the order of the topology, whichever station was up first.
    for (const { name, role } of wanted) this.#register(name, role);
  }

  async connect(segments: readonly Segment[]): Promise<void> {
    const lines = segments.flatMap(({ gateway, hosts }) => {
      const [only, ...more] = hosts;
      if (only === undefined) return [];
      // Two ends are one cable; more hang on a bridge at the gateway.
      if (more.length === 0) {
        return [
          `link add ${gateway.device} netns ${gateway.host} address ${gatewayMac} type veth peer name ${only.device} netns ${only.host}`,
        ];
      }
      return [
        `link add ${gateway.device} netns ${gateway.host} address ${gatewayMac} type bridge`,
        ...hosts.map(
          (host, index) =>
            `link add ${host.device} netns ${host.host} type veth peer name ${gateway.device}.${index} netns ${gateway.host}`,
        ),
      ];
    });
    await this.ground.exec(['ip', '-batch', '-'], { input: `${lines.join('\n')}\n` });
    await Promise.all(
      segments
        .filter((segment) => segment.hosts.length > 1)
        .map(({ gateway, hosts }) =>
          this.host(gateway.host).exec(['ip', '-batch', '-'], {
            input: hosts
              .map((_, index) => `link set ${gateway.device}.${index} master ${gateway.device} up\n`)
              .join(''),
          }),
        ),
    );
  }

  async createPod(_node: string, pod: string): Promise<Host> {
    const name = podHostName(pod);
    await this.#addNamespaces([name]);
    await this.#connection.request('startStation', { host: name, networkNamespace: name, ownMounts: false });
    return this.#register(name, 'pod');
  }

  async removePod(pod: string): Promise<void> {
    const name = podHostName(pod);
    await this.#connection.request('stopStation', { host: name });
    this.#hosts.delete(name);
    await this.ground.exec(['ip', 'netns', 'del', name]);
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

  #register(name: string, role: HostRole): Host {
    const host = new StationHost(name, role, new StationClient(name, this.#connection.stationTransport(name)));
    this.#hosts.set(name, host);
    return host;
  }
}
