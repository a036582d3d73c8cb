/**
 * Hosts on machines that Vagrant runs: each node that is asked for is a machine, and all other hosts are namespaces on one
 * more machine, world. So the lab works the same with every provider, and needs neither root nor a bridge of its own here.
 * The machines outlive this process, so the holder destroys them when the lab ends.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import type { Segment } from '../../network/segments.ts';
import { segmentsOf } from '../../network/segments.ts';
import type { Topology } from '../../topology/topology.ts';
import type { BackendKind } from '../backend.ts';
import type { Host, HostRole } from '../host.ts';
import { enterMachine } from '../machines/enter-machine.ts';
import { machineMac } from '../machines/mac.ts';
import {
  MachineBackend,
  machineCommandMs,
  machineInstallation,
  machineStationCommand,
} from '../machines/machine-backend.ts';
import type { MachineObserver } from '../machines/observer.ts';
import { packPrograms } from '../machines/programs.ts';
import type { ShellAccess } from '../machines/shell-access.ts';
import { quote } from '../machines/shell-words.ts';
import type { HolderConnection } from '../netns/holder-connection.ts';
import type { NamespaceStart } from '../netns/holder-protocol.ts';
import { namespacePrelude, stationCommand } from '../netns/station-pipe.ts';
import { gatewayDevice } from '../netns/wires.ts';
import { MachineError } from '../vm/machine.ts';
import { provisionMachine } from './provision.ts';
import { type MachineAddress, parseSshConfig } from './ssh-config.ts';
import {
  topologyFile,
  type VagrantPlace,
  type VagrantProvider,
  vagrantCommand,
  worldMachine,
} from './vagrant-command.ts';
import { GrowingFile, machineLine } from './vagrant-output.ts';

export interface VagrantOptions {
  topology: Topology;
  /** Hosts that are machines. */
  machines: readonly string[];
  provider: VagrantProvider;
  observer: MachineObserver;
}

/** Milliseconds between two looks at what Vagrant prints. */
const lookMs = 300;

/** Milliseconds for the ssh daemon of the management network to answer, under emulation and load. */
const takeOverMs = 60_000;

/** What is shown of Vagrant's output when it fails, in characters. */
const lastWords = 2500;

export class VagrantBackend extends MachineBackend {
  override readonly kind: BackendKind = 'vagrant';
  readonly #options: VagrantOptions | null;

  /** @param options null for a lab that another driver brought up */
  constructor(lab: string, connection: HolderConnection, options: VagrantOptions | null) {
    super(lab, connection);
    this.#options = options;
  }

  override adopt(hosts: readonly { name: string; role: HostRole; machine: string | null }[]): void {
    super.adopt(hosts.map((host) => (host.machine === worldMachine ? { ...host, machine: null } : host)));
  }

  override async createHosts(wanted: readonly { name: string; role: HostRole }[]): Promise<void> {
    const options = this.#options;
    if (options === null) throw new Error('the hosts of this lab are there already');
    const { topology, machines, provider } = options;
    if (wanted.some((host) => host.name === worldMachine)) {
      throw new Error(
        `a host of the topology is named ${worldMachine}, which is Vagrant's machine for what is no node: rename it`,
      );
    }
    const place: VagrantPlace = { lab: this.lab, folder: this.folder, provider, machines };
    writeFileSync(topologyFile(this.folder), JSON.stringify(topology));
    await this.connection.request('setLastCommand', vagrantCommand(place, 'destroy', '--force'));
    const addresses = await this.#bootMachines(place, options.observer);
    // `lab shell` finds a machine by it.
    writeFileSync(join(this.folder, 'addresses.json'), JSON.stringify(addresses));
    const programs = await packPrograms(this.folder);
    await Promise.all(addresses.map((address) => this.#takeOver(address, programs, options)));
    rmSync(programs);
    const namespaces = wanted.filter((host) => !machines.includes(host.name));
    await this.createNamespaces(namespaces.map((host) => host.name));
    await this.#layWires(segmentsOf(topology), machines);
    await Promise.all([
      this.startStations(namespaces),
      ...machines.map((name) =>
        this.connection.request('startStation', { host: name, machine: name, command: machineStationCommand }),
      ),
    ]);
    for (const { name, role } of wanted) {
      if (machines.includes(name)) this.registerOnMachine(name, role, name);
      else this.registerNamespace(name, role);
    }
  }

  async #bootMachines(place: VagrantPlace, observer: MachineObserver): Promise<MachineAddress[]> {
    const names = [...place.machines, worldMachine];
    const outputFile = join(this.folder, 'vagrant.log');
    const output = new GrowingFile(outputFile);
    const steps = new Map(names.map((name) => [name, observer.start(`vagrant up ${name}`)]));
    const up = this.connection.request('runOutside', {
      ...vagrantCommand(place, 'up', '--provider', place.provider, ...names),
      outputFile,
    });
    let running = true;
    void up
      .catch(() => undefined)
      .finally(() => {
        running = false;
      });
    const tell = (): void => {
      for (const line of output.newLines().map(machineLine))
        if (line !== null) steps.get(line.machine)?.reached(line.text);
    };
    while (running) {
      tell();
      await sleep(lookMs);
    }
    tell();
    const { code } = await up.catch((error: Error) => {
      for (const step of steps.values()) step.fail(error.message);
      throw error;
    });
    for (const step of steps.values())
      if (code === 0) step.done('');
      else step.fail(`vagrant exited ${code}`);
    if (code !== 0) {
      throw new MachineError(
        `\`vagrant up\` exited ${code}; it ended with:\n${readFileSync(outputFile, 'utf8').slice(-lastWords).trim()}`,
      );
    }
    const { argv, env } = vagrantCommand(place, 'ssh-config', ...names);
    const [program, ...args] = argv;
    const { stdout } = await execa(program, args, { env });
    return parseSshConfig(stdout, names);
  }

  /** Provisions a machine and connects the lab to it. */
  async #takeOver(
    address: MachineAddress,
    programs: string,
    { observer, topology, machines }: VagrantOptions,
  ): Promise<void> {
    const { machine } = address;
    const step = observer.start(`set up ${machine}`);
    try {
      await provisionMachine(address, programs, (milestone) => step.reached(milestone));
      await this.#connectTo(address);
      const script = [
        'set -e',
        `hostname ${machine}`,
        `date -s @${(Date.now() / 1000).toFixed(3)} > /dev/null`,
        `echo ${randomBytes(64).toString('hex')} > /dev/urandom`,
        'mkdir -p /run/wireguard /run/netns /run/lab',
        // Namespaces that are made later must appear in hosts that have mounts of their own.
        'mount --make-rshared /',
        deviceByMac,
        ...(machine === worldMachine ? [] : [ownWire(machine, topology)]),
        namespacePrelude,
        'for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done',
      ].join('\n');
      await this.#run(machine, script);
      step.done(machine === worldMachine ? `for ${machines.length} machines` : '');
    } catch (error) {
      step.fail((error as Error).message.split('\n')[0] ?? '');
      throw error;
    }
  }

  /** The daemon comes up a second after the machine was told to move its management network. */
  async #connectTo({ machine, address, port, privateKey }: MachineAddress): Promise<void> {
    const deadline = Date.now() + takeOverMs;
    for (;;) {
      await sleep(1500);
      try {
        await this.connection.request('openMachine', {
          ...{ machine, target: { address, port }, username: 'root', privateKey, timeoutMs: 10_000 },
        });
        return;
      } catch (error) {
        if (Date.now() < deadline) continue;
        throw new MachineError(
          `machine ${machine}: it does not let the lab in at ${address}:${port} ${takeOverMs / 1000} s after its management network was set up: ${(error as Error).message}`,
        );
      }
    }
  }

  /** Puts the world's end of each machine's wire where its gateway is. */
  async #layWires(segments: readonly Segment[], machines: readonly string[]): Promise<void> {
    const lines = segments.flatMap((segment) =>
      segment.hosts
        .filter(({ host }) => machines.includes(host))
        .map(({ host, address }) => {
          const device = `$(device_of ${machineMac(address, host, 'gateway')})`;
          return `ip link set "${device}" netns ${segment.gateway.host} name ${gatewayDevice(segment, host)}`;
        }),
    );
    await this.#run(worldMachine, ['set -e', deviceByMac, ...lines].join('\n'));
  }

  async #run(machine: string, command: string): Promise<void> {
    const { code, stderr } = await this.connection.request('runOnMachine', { machine, command });
    if (code !== 0) throw new MachineError(`machine ${machine}: its set-up exited ${code}: ${stderr.trim()}`);
  }

  protected override async startNamespace(start: NamespaceStart): Promise<void> {
    const station = [...machineInstallation.node, `${machineInstallation.root}/dist/station.js`];
    const command = `exec ${stationCommand(start, station).map(quote).join(' ')}`;
    await this.connection.request('startStation', { host: start.host, machine: worldMachine, command });
  }

  protected override registerNamespace(name: string, role: HostRole): Host {
    return this.register(name, role, machineInstallation, machineCommandMs);
  }

  override async shareSocket(host: string, name: string): Promise<{ there: string; here: string }> {
    return this.shareSocketOfMachine(this.machineOf.get(host) ?? worldMachine, name);
  }

  override async enter(host: string, argv: readonly string[]): Promise<number> {
    if (this.machineOf.has(host)) return super.enter(host, argv);
    const { pid } = await this.host(host).station.request('ping', {});
    const inside = ['nsenter', '--target', String(pid), '--mount', '--net', '--uts', ...argv];
    return enterMachine({ machine: worldMachine, host, access: this.shellAccess(worldMachine), argv: inside });
  }

  protected override shellAccess(machine: string): ShellAccess {
    const all = JSON.parse(readFileSync(join(this.folder, 'addresses.json'), 'utf8')) as MachineAddress[];
    const found = all.find((each) => each.machine === machine);
    if (found === undefined) throw new Error(`Vagrant runs no machine ${machine} for this lab`);
    return { target: { address: found.address, port: found.port }, privateKey: found.privateKey };
  }
}

/** A shell function: the device of a MAC address, whatever the machine has named it. */
const deviceByMac = `device_of() {
  for file in /sys/class/net/*/address; do
    [ "$(cat "$file")" = "$1" ] || continue
    file=\${file%/address}; echo "\${file##*/}"; return
  done
  echo "no network card has the MAC address $1" >&2; return 1
}`;

/** Shell lines that give a machine's wire its name in the topology. */
function ownWire(machine: string, topology: Topology): string {
  const end = segmentsOf(topology)
    .flatMap((segment) => segment.hosts)
    .find(({ host }) => host === machine);
  if (end === undefined) throw new Error(`${machine} is on no wire of the topology`);
  return [
    `wire=$(device_of ${machineMac(end.address, machine)})`,
    'ip link set "$wire" down',
    'ip address flush dev "$wire"',
    `[ "$wire" = ${end.device} ] || ip link set "$wire" name ${end.device}`,
  ].join('\n');
}
