/** The options of every command that boots a lab: what its hosts are made of. */
import { type Command, Option } from 'commander';
import type { BackendRequest } from '../backends/request.ts';
import { chooseAccelerator } from '../backends/vm/accelerator.ts';
import { machineImage } from '../backends/vm/image/image.ts';
import { defaultKernel, kernelRelease, kernelReleases } from '../backends/vm/image/kernels.ts';
import { possibleMachines } from '../backends/vm/vm-backend.ts';
import type { Progress } from '../terminal/progress.ts';
import type { Topology } from '../topology/topology.ts';

export interface BackendOptions {
  backend: 'netns' | 'vm';
  kernel: string;
  /** Comma-separated names; undefined for every host that can be one. */
  machines?: string;
  cold: boolean;
}

export function addBackendOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--backend <backend>', 'what nodes are made of: namespaces, or virtual machines with a kernel each')
        .choices(['netns', 'vm'])
        .default('netns'),
    )
    .addOption(
      new Option('--kernel <version>', "Debian's kernel for the machines")
        .choices(kernelReleases.map((release) => release.name))
        .default(defaultKernel),
    )
    .option('--machines <names>', 'only these hosts as machines, the others as namespaces: edge-a,worker-b')
    .option('--cold', 'boot machines from their kernel even where a saved state is there', false);
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
  const image = await machineImage(kernelRelease(options.kernel), (title, work) => progress.during(title, work));
  const accelerator = await chooseAccelerator(image.kernel.vmlinux);
  progress.line(`${machines.length} machines with Debian's kernel ${options.kernel}, ${accelerator.reason}`);
  return {
    kind: 'vm',
    ...{ machines, image, accelerator, cold: options.cold },
    observer: {
      start: (what) => {
        const step = progress.start(what);
        return { reached: (milestone) => step.update(milestone), done: step.done, fail: step.fail };
      },
      line: (text) => progress.line(text),
    },
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
