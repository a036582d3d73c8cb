/** The options of every command that boots a lab: what its hosts are made of. */
import { type Command, Option } from 'commander';
import type { MachineObserver } from '../backends/machines/observer.ts';
import type { BackendRequest } from '../backends/request.ts';
import { vagrantMemoryMiB, vagrantProviders, worldMachine } from '../backends/vagrant/vagrant-command.ts';
import { chooseAccelerator } from '../backends/vm/accelerator.ts';
import { machineImage } from '../backends/vm/image/image.ts';
import { defaultKernel, kernelRelease, kernelReleases } from '../backends/vm/image/kernels.ts';
import { availableMiB, checkMemory } from '../backends/vm/memory.ts';
import { possibleMachines } from '../backends/vm/vm-backend.ts';
import { vagrantPreflight } from '../preflight/vagrant.ts';
import type { Progress } from '../terminal/progress.ts';
import type { Topology } from '../topology/topology.ts';

export interface BackendOptions {
  backend: 'netns' | 'vm' | 'vagrant';
  /** Undefined for the default one. */
  kernel?: string;
  /** Comma-separated names; undefined for every host that can be one. */
  machines?: string;
  cold: boolean;
  /** Vagrant's; undefined for the one that is there. */
  provider?: string;
}

export function addBackendOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--backend <backend>',
        'what nodes are made of: namespaces, virtual machines with a kernel each, or machines that Vagrant runs',
      )
        .choices(['netns', 'vm', 'vagrant'])
        .default('netns'),
    )
    .addOption(
      new Option(
        '--kernel <version>',
        `Debian's kernel for the machines (backend vm; ${defaultKernel} without)`,
      ).choices(kernelReleases.map((release) => release.name)),
    )
    .option('--machines <names>', 'only these hosts as machines, the others as namespaces: edge-a,worker-b')
    .option('--cold', 'boot machines from their kernel even where a saved state is there (backend vm)', false)
    .addOption(
      new Option(
        '--provider <provider>',
        "Vagrant's provider (backend vagrant; the one that is there without)",
      ).choices(vagrantProviders),
    );
}

/**
 * Builds what the backend needs and says what it is.
 * @throws Error naming the host that cannot be a machine; what machineImage throws
 */
export async function backendRequest(
  options: BackendOptions,
  topology: Topology,
  progress: Progress,
): Promise<BackendRequest> {
  if (options.backend === 'netns') return { kind: 'netns' };
  const machines = chosenMachines(options.machines, topology);
  if (options.backend === 'vagrant') return vagrantRequest(options, machines, progress);
  const kernel = options.kernel ?? defaultKernel;
  const image = await machineImage(kernelRelease(kernel), (title, work) => progress.during(title, work));
  const accelerator = await chooseAccelerator(image.kernel.vmlinux);
  progress.line(`${machines.length} machines with Debian's kernel ${kernel}, ${accelerator.reason}`);
  return {
    kind: 'vm',
    ...{ machines, image, accelerator, cold: options.cold },
    observer: observerOf(progress),
  };
}

async function vagrantRequest(
  options: BackendOptions,
  machines: readonly string[],
  progress: Progress,
): Promise<BackendRequest> {
  if (options.kernel !== undefined) {
    throw new Error(
      '--kernel is for the backend vm: a Vagrant machine runs the kernel of its box (KUPORT_VAGRANT_BOX)',
    );
  }
  if (options.cold) throw new Error('--cold is for the backend vm: a Vagrant machine always boots');
  const provider = await vagrantPreflight(options.provider);
  checkMemory([...machines, worldMachine], availableMiB(), vagrantMemoryMiB);
  progress.line(`${machines.length} machines and ${worldMachine}, run by Vagrant with ${provider}`);
  return { kind: 'vagrant', machines, provider, observer: observerOf(progress) };
}

function observerOf(progress: Progress): MachineObserver {
  return {
    start: (what) => {
      const step = progress.start(what);
      return { reached: (milestone) => step.update(milestone), done: step.done, fail: step.fail };
    },
    line: (text) => progress.line(text),
  };
}

function chosenMachines(names: string | undefined, topology: Topology): string[] {
  const possible = possibleMachines(topology);
  if (names === undefined) return possible;
  const chosen = names.split(',').filter((name) => name !== '');
  for (const name of chosen) {
    if (possible.includes(name)) continue;
    throw new Error(
      `--machines ${names}: no node or control host is named "${name}": there are ${possible.join(', ')}`,
    );
  }
  if (chosen.length === 0) throw new Error(`--machines names no host: there are ${possible.join(', ')}`);
  return chosen;
}
