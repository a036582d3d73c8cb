/** One kernel for the machines: the plain kernel, its modules as a disk, and the initial RAM disk that finds the root. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { buildImage, hashOf, type Inputs } from './cache.ts';
import type { KernelRelease } from './kernels.ts';
import { guestFile, type RootImage } from './root.ts';
import { extractVmlinux } from './vmlinux.ts';

export interface KernelImage {
  folder: string;
  /** ELF file, not compressed. */
  vmlinux: string;
  initrd: string;
  /** Read-only squashfs of /usr/lib/modules. */
  modules: string;
}

/** What the initial RAM disk loads to reach the root. */
const bootModules = ['virtio_pci', 'virtio_blk', 'overlay', 'squashfs'];

export function kernelInputs(release: KernelRelease, root: Inputs): Inputs {
  return {
    suite: release.suite,
    'boot modules': bootModules.join(' '),
    'initrd init': hashOf({ init: guestFile('initrd-init') }),
    // The initial RAM disk holds the root's busybox.
    packages: `${root.suite}: ${root.packages}`,
  };
}

export function kernelImage(folder: string): KernelImage {
  return {
    folder,
    vmlinux: join(folder, 'vmlinux'),
    initrd: join(folder, 'initrd.cpio'),
    modules: join(folder, 'modules.squashfs'),
  };
}

export function kernelKind(release: KernelRelease): string {
  return `kernel-${release.name}`;
}

/**
 * Builds it: about 10 s.
 * @throws ExecaError with the failing tool's command and stderr
 */
export async function buildKernel(release: KernelRelease, inputs: Inputs, root: RootImage): Promise<KernelImage> {
  const folder = await buildImage(kernelKind(release), inputs, async (working) => {
    const tar = join(working, 'kernel.tar');
    await execa('mmdebstrap', [
      ...['--quiet', '--variant=extract', '--include=linux-image-cloud-amd64'],
      ...(release.allowExpired ? ['--aptopt=Acquire::Check-Valid-Until "false"'] : []),
      ...[release.suite, tar],
    ]);
    const unpacked = join(working, 'unpacked');
    mkdirSync(unpacked);
    await execa('tar', ['-x', '-f', tar, '-C', unpacked, '--wildcards', '--no-anchored', 'vmlinuz*', '*lib/modules/*']);
    rmSync(tar);
    const modules = join(unpacked, existsSync(join(unpacked, 'usr/lib/modules')) ? 'usr/lib/modules' : 'lib/modules');
    const [version] = readdirSync(modules);
    if (version === undefined) throw new Error(`Debian ${release.suite}'s linux-image-cloud-amd64 holds no modules`);
    await extractVmlinux(findKernel(unpacked, modules, version), join(working, 'vmlinux'));
    // Loading a compressed module costs its unpacking on every machine; the disk is compressed anyway.
    await execa('find', [modules, '-name', '*.ko.xz', '-exec', 'xz', '-d', '{}', '+']);
    const base = join(unpacked, 'base');
    mkdirSync(join(base, 'lib'), { recursive: true });
    symlinkSync(modules, join(base, 'lib', 'modules'));
    await execa('depmod', ['-b', base, version]);
    await writeInitrd(working, base, version, root);
    await execa('mksquashfs', [
      ...[modules, join(working, 'modules.squashfs')],
      ...['-comp', 'lz4', '-all-root', '-quiet', '-no-progress', '-e', 'vmlinuz'],
    ]);
    rmSync(unpacked, { recursive: true });
  });
  return kernelImage(folder);
}

/** /boot of Debian 12 and 13, beside its modules from Debian 14 on. */
function findKernel(unpacked: string, modules: string, version: string): string {
  const places = [join(unpacked, 'boot', `vmlinuz-${version}`), join(modules, version, 'vmlinuz')];
  const found = places.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`no kernel ${version} at ${places.join(' nor ')}`);
  return found;
}

async function writeInitrd(working: string, base: string, version: string, root: RootImage): Promise<void> {
  const tree = join(working, 'initrd');
  for (const folder of ['bin', 'proc', 'sys', 'dev', 'lower', 'layer', 'root', 'modules'])
    mkdirSync(join(tree, folder), { recursive: true });
  cpSync(root.busybox, join(tree, 'bin', 'busybox'));
  for (const applet of ['sh', 'mount', 'insmod', 'switch_root', 'mkdir', 'sleep'])
    symlinkSync('busybox', join(tree, 'bin', applet));
  const { stdout } = await execa('modprobe', [
    ...['-d', base, '-S', version, '--show-depends', '--ignore-install', '-a', ...bootModules],
  ]);
  const files = [...new Set(stdout.split('\n').flatMap((line) => /^insmod (\S+)/.exec(line)?.[1] ?? []))];
  for (const file of files) cpSync(file, join(tree, 'modules', basename(file)));
  writeFileSync(join(tree, 'modules', 'order'), `${files.map((file) => basename(file)).join('\n')}\n`);
  writeFileSync(join(tree, 'init'), guestFile('initrd-init'));
  chmodSync(join(tree, 'init'), 0o755);
  const names = await execa('find', ['.'], { cwd: tree });
  await execa('cpio', ['--quiet', '-o', '-H', 'newc', '-R', '0:0', '-O', join(working, 'initrd.cpio')], {
    cwd: tree,
    input: `${names.stdout}\n`,
  });
  rmSync(tree, { recursive: true });
  if (readFileSync(join(working, 'initrd.cpio')).length === 0) throw new Error('the initial RAM disk came out empty');
}
