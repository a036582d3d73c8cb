/** What all backends with machines share: how a host on a machine is reached, and how pods come and go there. */
import { join } from 'node:path';
import type { Substance } from '../backend.ts';
import type { Host, HostRole, Installation } from '../host.ts';
import { NetnsBackend, podHostName } from '../netns/netns-backend.ts';
import { namespacePrelude } from '../netns/station-pipe.ts';
import { enterMachine } from './enter-machine.ts';
import type { ShellAccess } from './shell-access.ts';

/**
 * Where the project's programs lie on a machine. Without just-in-time compilation: under emulation, code that is made while
 * a program runs must be translated each time it changes. An agent then starts in two thirds of the time and uses half the
 * processor for a change (measured: 20 s and 29 s instead of 34 s and 69 s with two machines and a busy host).
 */
export const machineInstallation: Installation = {
  node: ['node', '--jitless', '--no-expose-wasm'],
  root: '/opt/kuport',
};

/** Milliseconds for a command on a machine: what takes 10 ms in a namespace took up to 3 s while five machines booted. */
export const machineCommandMs = 60_000;

export const machineStationCommand = `exec ${machineInstallation.node.join(' ')} ${machineInstallation.root}/dist/station.js`;

export abstract class MachineBackend extends NetnsBackend {
  /** Host -> the machine it is or is on. */
  protected readonly machineOf = new Map<string, string>();

  /** How `lab exec` and `lab shell` reach a machine. */
  protected abstract shellAccess(machine: string): ShellAccess;

  override adopt(hosts: readonly { name: string; role: HostRole; machine: string | null }[]): void {
    super.adopt(hosts.filter((host) => host.machine === null));
    for (const { name, role, machine } of hosts) if (machine !== null) this.registerOnMachine(name, role, machine);
  }

  override substanceOf(host: string): Substance {
    return this.machineOf.has(host) ? 'machine' : 'namespace';
  }

  override async createPod(node: string, pod: string): Promise<Host> {
    const machine = this.machineOf.get(node);
    if (machine === undefined) return super.createPod(node, pod);
    const name = podHostName(pod);
    await this.connection.request('startStation', {
      host: name,
      machine,
      command: `ip netns add ${name} && exec ip netns exec ${name} sh -c '${namespacePrelude} && ${machineStationCommand}'`,
    });
    return this.registerOnMachine(name, 'pod', machine);
  }

  override async removePod(pod: string): Promise<void> {
    const name = podHostName(pod);
    const machine = this.machineOf.get(name);
    if (machine === undefined) return super.removePod(pod);
    await this.connection.request('stopStation', { host: name });
    this.forget(name);
    this.machineOf.delete(name);
    await this.host(machine).exec(['ip', 'netns', 'del', name]);
  }

  override async shareSocket(host: string, name: string): Promise<{ there: string; here: string }> {
    const machine = this.machineOf.get(host);
    if (machine === undefined) return super.shareSocket(host, name);
    return this.shareSocketOfMachine(machine, name);
  }

  protected async shareSocketOfMachine(machine: string, name: string): Promise<{ there: string; here: string }> {
    const there = `/run/lab/${name}`;
    const here = join(this.folder, name);
    await this.connection.request('shareSocket', { machine, remotePath: there, localPath: here });
    return { there, here };
  }

  override async enter(host: string, argv: readonly string[]): Promise<number> {
    const machine = this.machineOf.get(host);
    if (machine === undefined) return super.enter(host, argv);
    const inside = machine === host ? argv : ['ip', 'netns', 'exec', host, ...argv];
    return enterMachine({ machine, host, access: this.shellAccess(machine), argv: inside });
  }

  protected registerOnMachine(name: string, role: HostRole, machine: string): Host {
    this.machineOf.set(name, machine);
    return this.register(name, role, machineInstallation, machineCommandMs);
  }
}
