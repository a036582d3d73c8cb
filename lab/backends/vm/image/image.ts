/** The image of a machine: the shared root and one kernel, built when they are not there or made of other things now. */
import { existsSync, mkdirSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { cacheFolder, imageFolder, reasonToBuild, sweepHalfBuilt } from './cache.ts';
import { guestNode } from './guest-node.ts';
import { buildKernel, type KernelImage, kernelImage, kernelInputs, kernelKind } from './kernel.ts';
import type { KernelRelease } from './kernels.ts';
import { buildRoot, type RootImage, rootImage, rootInputs } from './root.ts';

export interface MachineImage {
  root: RootImage;
  kernel: KernelImage;
}

/** Bytes a build needs at its widest: the unpacked root as a tar and a squashfs, and one kernel. Measured: 0.7 GB. */
const spaceToBuild = 1_000_000_000;

/** Runs one piece of a build and tells a person about it. */
export type BuildStep = <Result>(title: string, work: () => Promise<Result>) => Promise<Result>;

/**
 * @param step told what is built and why; not called when everything is there
 * @throws Error naming the folder when its disk has no room, or with the failing tool's words
 */
export async function machineImage(release: KernelRelease, step: BuildStep): Promise<MachineImage> {
  sweepHalfBuilt();
  const node = await guestNode();
  const forRoot = await rootInputs(node);
  const whyRoot = reasonToBuild('root', forRoot);
  let root = rootImage(imageFolder('root', forRoot));
  if (whyRoot !== null) {
    checkSpace();
    root = await step(`build the machines' root (${whyRoot})`, () => buildRoot(forRoot, node));
  }
  const forKernel = kernelInputs(release, forRoot);
  const whyKernel = reasonToBuild(kernelKind(release), forKernel);
  let kernel = kernelImage(imageFolder(kernelKind(release), forKernel));
  if (whyKernel !== null) {
    checkSpace();
    kernel = await step(`build kernel ${release.name} from Debian ${release.suite} (${whyKernel})`, () =>
      buildKernel(release, forKernel, root),
    );
  }
  return { root, kernel };
}

function checkSpace(): void {
  const folder = cacheFolder();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = statfsSync(existsSync(folder) ? folder : dirname(folder));
  const free = bavail * bsize;
  if (free >= spaceToBuild) return;
  throw new Error(
    `building the machines' image needs ${spaceToBuild / 1e6} MB in ${folder}, where ${Math.floor(free / 1e6)} MB are free: make room, or set KUPORT_CACHE_FOLDER to a folder on another disk`,
  );
}
