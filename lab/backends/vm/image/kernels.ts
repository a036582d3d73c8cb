/** The kernels a machine can boot, and the Debian suite each comes from. */

export interface KernelRelease {
  /** What a user asks for. */
  name: string;
  suite: string;
  /**
   * unstable is served by some mirrors as a snapshot whose Release file has run out. Its signature is checked all the same.
   */
  allowExpired: boolean;
}

export const kernelReleases: readonly KernelRelease[] = [
  { name: '6.1', suite: 'bookworm', allowExpired: false },
  { name: '6.12', suite: 'trixie', allowExpired: false },
  { name: '7.2', suite: 'sid', allowExpired: true },
];

/** The kernel of Debian stable. */
export const defaultKernel = '6.12';

/** @throws Error naming the kernels there are. */
export function kernelRelease(name: string): KernelRelease {
  const found = kernelReleases.find((release) => release.name === name);
  if (found === undefined) {
    throw new Error(`no kernel "${name}": there are ${kernelReleases.map((release) => release.name).join(', ')}`);
  }
  return found;
}
