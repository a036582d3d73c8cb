/**
 * Which Node.js the machines run. The one that runs this process, when it is a single file that needs nothing but the C
 * library: it carries a start-up snapshot, which Debian's does not, and starts in 0.5 s under software emulation where
 * Debian's takes 3.0 s (measured, QEMU 7.2, Node 20). Else Debian's own package.
 */
import { execa } from 'execa';

/** Libraries that every Debian has. */
const everywhere = /^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libatomic|libgcc_s|libstdc\+\+)[.-]/;

export interface GuestNode {
  /** File to copy into the image; null to install Debian's package. */
  file: string | null;
  /** For the image's list of inputs. */
  description: string;
}

export async function guestNode(execPath = process.execPath): Promise<GuestNode> {
  const debian: GuestNode = { file: null, description: "Debian's nodejs" };
  const { stdout, exitCode } = await execa('ldd', [execPath], { reject: false });
  if (exitCode !== 0) return debian;
  const libraries = stdout
    .split('\n')
    .map(
      (line) =>
        line
          .trim()
          .split(/[\s/]+/)
          .find((word) => word.includes('.so')) ?? '',
    )
    .filter((name) => name !== '');
  const selfContained = libraries.length > 0 && libraries.every((name) => everywhere.test(name));
  return selfContained ? { file: execPath, description: process.version } : debian;
}
