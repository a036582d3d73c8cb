/** `lab vm-image`: the image that virtual machines boot, built when it is not there. */
import { chooseAccelerator } from '../backends/vm/accelerator.ts';
import { machineImage } from '../backends/vm/image/image.ts';
import { kernelRelease } from '../backends/vm/image/kernels.ts';
import { preflight } from '../preflight/preflight.ts';
import { Progress } from '../terminal/progress.ts';
import { openTerminal } from '../terminal/terminal.ts';

export async function vmImageCommand(kernels: readonly string[]): Promise<number> {
  const terminal = openTerminal();
  const progress = new Progress(terminal);
  const releases = kernels.map(kernelRelease);
  await preflight({ install: true, forMachines: true, say: (line) => progress.line(line) });
  for (const release of releases) {
    const { root, kernel } = await machineImage(release, (title, work) => progress.during(title, work));
    terminal.line(`kernel ${release.name}: ${kernel.vmlinux}, root ${root.disk}`);
    const { reason } = await chooseAccelerator(kernel.vmlinux);
    terminal.line(`machines run with ${reason}`);
  }
  return 0;
}
