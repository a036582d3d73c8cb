/** The root file system that all machines share: Debian packages, Node.js, an ssh daemon and the first process. */
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { projectRoot } from '../../../project.ts';
import { loadSsh } from '../../ssh/load.ts';
import { buildImage, hashOf, type Inputs } from './cache.ts';
import { type GuestNode, guestNode } from './guest-node.ts';

/** User space is that of Debian stable, whichever kernel it runs on: its nft and ip are newer than the lab host's need be. */
const suite = 'trixie';

export const packages = [
  'busybox-static',
  'conntrack',
  'ethtool',
  'iproute2',
  'iptables',
  'iputils-ping',
  'ipset',
  'kmod',
  'nftables',
  'openssh-server',
  'procps',
  'tcpdump',
  'wireguard-tools',
];

const guestFolder = join(projectRoot, 'lab', 'backends', 'vm', 'image', 'guest');

export function guestFile(name: string): string {
  return readFileSync(join(guestFolder, name), 'utf8');
}

export interface RootImage {
  folder: string;
  /** Read-only squashfs. */
  disk: string;
  /** Private key that every machine lets in as root. */
  privateKey: string;
  /** Statically linked, for the initial RAM disk. */
  busybox: string;
}

export async function rootInputs(node?: GuestNode): Promise<Inputs> {
  return {
    suite,
    packages: packages.join(' '),
    node: (node ?? (await guestNode())).description,
    init: hashOf({ init: guestFile('init') }),
    sshd: hashOf({ sshd: guestFile('sshd.conf') }),
  };
}

export function rootImage(folder: string): RootImage {
  return {
    folder,
    disk: join(folder, 'root.squashfs'),
    privateKey: join(folder, 'machine-key'),
    busybox: join(folder, 'busybox'),
  };
}

/**
 * Builds it: about a minute here, nearly all of it mmdebstrap's.
 * @throws ExecaError with the failing tool's command and stderr
 */
export async function buildRoot(inputs: Inputs, node: GuestNode): Promise<RootImage> {
  const folder = await buildImage('root', inputs, async (working) => {
    const { makeKeyPair } = await loadSsh();
    const keys = makeKeyPair('kuport lab');
    writeFileSync(join(working, 'machine-key'), keys.private, { mode: 0o600 });
    const overlay = writeOverlay(join(working, 'overlay'), keys.public, node);
    const tar = join(working, 'root.tar');
    const wanted = node.file === null ? [...packages, 'nodejs'] : packages;
    await execa('mmdebstrap', [
      ...['--quiet', '--variant=minbase', `--include=${wanted.join(',')}`],
      ...['--aptopt=Acquire::Languages "none"'],
      ...['doc', 'man', 'locale', 'info'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
      `--customize-hook=sync-in ${overlay} /`,
      // An empty machine-id is what a file system shared by many machines must have.
      '--customize-hook=rm -rf "$1"/boot/* "$1"/var/cache/apt/*; : > "$1"/etc/machine-id; : > "$1"/etc/fstab',
      '--customize-hook=mkdir -p "$1"/usr/lib/modules',
      ...[suite, tar],
    ]);
    await execa('mksquashfs', ['-', join(working, 'root.squashfs'), '-tar', '-comp', 'lz4', '-quiet', '-no-progress'], {
      inputFile: tar,
    });
    await execa('tar', ['-x', '-f', tar, '-C', working, '--transform=s|.*/||', './usr/bin/busybox']);
    rmSync(tar);
    rmSync(overlay, { recursive: true });
  });
  return rootImage(folder);
}

/** What is laid over the packages. */
function writeOverlay(folder: string, publicKey: string, node: GuestNode): string {
  const write = (path: string, text: string, mode: number): void => {
    const target = join(folder, path);
    mkdirSync(join(target, '..'), { recursive: true });
    writeFileSync(target, text);
    chmodSync(target, mode);
  };
  write('usr/sbin/lab-init', guestFile('init'), 0o755);
  write('etc/ssh/sshd_config.d/lab.conf', guestFile('sshd.conf'), 0o644);
  write('root/.ssh/authorized_keys', `${publicKey}\n`, 0o600);
  chmodSync(join(folder, 'root/.ssh'), 0o700);
  chmodSync(join(folder, 'root'), 0o700);
  write('etc/hosts', '127.0.0.1 localhost\n', 0o644);
  if (node.file !== null) {
    mkdirSync(join(folder, 'usr/local/bin'), { recursive: true });
    cpSync(node.file, join(folder, 'usr/local/bin/node'), { dereference: true });
  }
  return folder;
}
