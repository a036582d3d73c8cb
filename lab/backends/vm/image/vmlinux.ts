/**
 * Takes the plain kernel out of a compressed one. QEMU starts a plain kernel at once; under software emulation a
 * compressed one first spends seconds unpacking itself.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { execa } from 'execa';

/** How a compressed stream begins, and what unpacks it. */
const formats = [
  { magic: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), unpack: ['zstd', '-d', '-c', '-q'] },
  { magic: Buffer.from([0x02, 0x21, 0x4c, 0x18]), unpack: ['lz4', '-d', '-c', '-q'] },
  { magic: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]), unpack: ['xz', '-d', '-c', '-q'] },
  { magic: Buffer.from([0x1f, 0x8b, 0x08]), unpack: ['gzip', '-d', '-c', '-q'] },
] as const;

const elf = Buffer.from('\x7fELF', 'latin1');

/**
 * @param compressed path of a vmlinuz
 * @param plain path the ELF file is written to
 * @throws Error when nothing in it unpacks to an ELF file
 */
export async function extractVmlinux(compressed: string, plain: string): Promise<void> {
  const image = readFileSync(compressed);
  for (const { magic, unpack } of formats) {
    for (let at = image.indexOf(magic); at >= 0; at = image.indexOf(magic, at + 1)) {
      const [tool, ...args] = unpack;
      // What follows the stream in the file makes the tool fail after it has written all of it.
      const { stdout } = await execa(tool, args, {
        input: image.subarray(at),
        encoding: 'buffer',
        reject: false,
        maxBuffer: 512 * 1024 * 1024,
      });
      if (stdout === undefined || !Buffer.from(stdout.subarray(0, 4)).equals(elf)) continue;
      writeFileSync(plain, stdout);
      return;
    }
  }
  throw new Error(`${compressed}: no compressed kernel found in it (${image.length} bytes)`);
}
