/**
 * Hosts as virtual machines with a kernel of their own, beside hosts that are namespaces: internet, routers and clients
 * always are. QEMU runs inside the lab's namespaces, so that it ends with the lab.
 */
import { randomBytes } from 'node:crypto';
import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type Attachment, type Segment, segmentsOf } from '../../network/segments.ts';
import type { Topology } from '../../topology/topology.ts';
import type { BackendKind } from '../backend.ts';
import type { HostRole } from '../host.ts';
import { machineMac } from '../machines/mac.ts';
import { MachineBackend, machineInstallation, machineStationCommand } from '../machines/machine-backend.ts';
import type { MachineObserver } from '../machines/observer.ts';
import { packPrograms } from '../machines/programs.ts';
import type { ShellAccess } from '../machines/shell-access.ts';
import type { HolderConnection } from '../netns/holder-connection.ts';
import { socketPathLimit } from '../netns/state-folder.ts';
import { namespacePrelude } from '../netns/station-pipe.ts';
import { gatewayDevice } from '../netns/wires.ts';
import type { AcceleratorChoice } from './accelerator.ts';
import type { MachineImage } from './image/image.ts';
import { bootMachine, MachineError, restoreMachine } from './machine.ts';
import { checkMemory } from './memory.ts';
import { type MachineOptions, machineFiles } from './qemu.ts';
import { ensureSavedState, reasonToSave, type SavedState } from './saved-state.ts';

export interface VmOptions {
  topology: Topology;
  /** Hosts that are machines. */
  machines: readonly string[];
  image: MachineImage;
  accelerator: AcceleratorChoice;
  /** Boot from the kernel even where a saved state would be faster. */
  cold: boolean;
  observer: MachineObserver;
}

/** Milliseconds for the first ssh connection: 0.5 s alone, 6 s when five machines are asked at once on two cores. */
const sshMs = 60_000;

/** Name of the link to the private key in a lab's folder. */
const keyLink = 'machine-key';

/** Hosts of a topology that can be machines. */
export function possibleMachines(topology: Topology): string[] {
  return [topology.control, ...topology.nodes].map((each) => each.name);
}

export class VmBackend extends MachineBackend {
  override readonly kind: BackendKind = 'vm';
  readonly #options: VmOptions | null;

  /** @param options null for a lab that another driver brought up */
  constructor(lab: string, connection: HolderConnection, options: VmOptions | null) {
    super(lab, connection);
    this.#options = options;
  }

  override async createHosts(wanted: readonly { name: string; role: HostRole }[]): Promise<void> {
    const options = this.#options;
    if (options === null) throw new Error('the hosts of this lab are there already');
    const { machines } = options;
    checkMemory(machines);
    this.#checkPaths(machines);
    const namespaces = wanted.filter((host) => !machines.includes(host.name));
    await this.createNamespaces(namespaces.map((host) => host.name));
    symlinkSync(options.image.root.privateKey, join(this.folder, keyLink));
    const programs = await packPrograms(this.folder);
    const state = options.cold ? null : await this.#savedState(options);
    await Promise.all([
      this.startStations(namespaces),
      ...machines.map((name) => this.#startMachine(name, options, state, programs)),
    ]);
    rmSync(programs);
    for (const { name, role } of wanted) {
      if (machines.includes(name)) this.registerOnMachine(name, role, name);
      else this.register(name, role);
    }
  }

  /** The state to start from; null, and a word about it, when there is none to be had. */
  async #savedState({ image, accelerator, observer }: VmOptions): Promise<SavedState | null> {
    const request = { ground: this.ground, image, accelerator: accelerator.accelerator, folder: this.folder };
    const reason = await reasonToSave(request);
    if (reason === null) return ensureSavedState(request);
    const step = observer.start(`save the state of a machine that has booted (${reason})`);
    try {
      const state = await ensureSavedState(request);
      step.done('');
      return state;
    } catch (error) {
      step.fail(`${(error as Error).message}: the machines boot from their kernels instead`);
      return null;
    }
  }

  async #startMachine(name: string, options: VmOptions, state: SavedState | null, programs: string): Promise<void> {
    const { observer, topology } = options;
    const { segment, end } = wireOf(segmentsOf(topology), name);
    const files = machineFiles(this.folder, name);
    const machine: MachineOptions = {
      ...{ name, files, image: options.image, accelerator: options.accelerator.accelerator },
      tap: gatewayDevice(segment, name),
    };
    const place = { ground: this.ground, namespace: segment.gateway.host };
    const step = observer.start(`machine ${name}`);
    const begin = performance.now();
    const seconds = (): string => `${((performance.now() - begin) / 1000).toFixed(1)} s`;
    const times: string[] = [];
    const reached = (milestone: string): void => {
      times.push(`${milestone} ${seconds()}`);
      step.reached(milestone);
    };
    try {
      if (state === null) await bootMachine(place, machine, reached);
      else {
        try {
          await restoreMachine(place, machine, state, reached);
        } catch (error) {
          observer.line(`${(error as Error).message}\nmachine ${name} boots from its kernel instead`);
          for (const path of Object.values(files)) rmSync(path, { force: true });
          await bootMachine(place, machine, reached);
        }
      }
      await this.connection.request('openMachine', {
        ...{ machine: name, target: { socketPath: files.lab }, username: 'root', timeoutMs: sshMs },
        ...{ privateKey: options.image.root.privateKey, consoleFile: files.console },
      });
      reached('ssh');
      await this.#provision(name, end, programs);
      await this.connection.request('startStation', { host: name, machine: name, command: machineStationCommand });
      step.done([...times, `station ${seconds()}`].join(', '));
    } catch (error) {
      step.fail((error as Error).message.split('\n')[0] ?? '');
      throw error;
    }
  }

  /** Name, clock, randomness, network device, reverse path filter, programs: what a copy of a machine must get for itself. */
  async #provision(name: string, end: Attachment, programs: string): Promise<void> {
    const script = [
      'set -e',
      `hostname ${name}`,
      `date -s @${(Date.now() / 1000).toFixed(3)} > /dev/null`,
      `echo ${randomBytes(64).toString('hex')} > /dev/urandom`,
      'ip link set eth0 down',
      `ip link set eth0 address ${machineMac(end.address, name)}`,
      ...(end.device === 'eth0' ? [] : [`ip link set eth0 name ${end.device}`]),
      namespacePrelude,
      `mkdir -p ${machineInstallation.root} /run/wireguard /run/netns /run/lab`,
      `gzip -dc | tar -x -C ${machineInstallation.root}`,
      // A machine that starts from a saved state has not printed anything yet.
      `echo "lab: ${name} is set up" > /dev/console`,
    ];
    const { code, stderr } = await this.connection.request('runOnMachine', {
      machine: name,
      command: script.join('\n'),
      inputFile: programs,
    });
    if (code !== 0) throw new MachineError(`machine ${name}: its set-up exited ${code}: ${stderr.trim()}`);
  }

  protected override shellAccess(machine: string): ShellAccess {
    return { target: { socketPath: machineFiles(this.folder, machine).shell }, privateKey: join(this.folder, keyLink) };
  }

  #checkPaths(machines: readonly string[]): void {
    for (const path of machines.flatMap((name) => Object.values(machineFiles(this.folder, name)))) {
      if (Buffer.byteLength(path) <= socketPathLimit) continue;
      throw new Error(
        `${path} is too long for a socket (${Buffer.byteLength(path)} bytes, ${socketPathLimit} are possible): set TMPDIR or KUPORT_LAB_FOLDER to a folder with a shorter path`,
      );
    }
  }
}

function wireOf(segments: readonly Segment[], host: string): { segment: Segment; end: Attachment } {
  for (const segment of segments) {
    const end = segment.hosts.find((each) => each.host === host);
    if (end !== undefined) return { segment, end };
  }
  throw new Error(`${host} is on no wire of the topology`);
}
