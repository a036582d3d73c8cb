/** Whether this machine has the memory for all machines of a lab; found before the first of them starts. */
import { readFileSync } from 'node:fs';
import { memoryMiB, overheadMiB } from './qemu.ts';

/** MiB that the kernel could give away now. */
export function availableMiB(): number {
  const [, kilobytes] = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
  return Math.floor(Number(kilobytes ?? 0) / 1024);
}

/**
 * @param each what a machine takes, with its hypervisor
 * @throws Error saying what is needed, what is there and what to do
 */
export function checkMemory(
  machines: readonly string[],
  available = availableMiB(),
  each = memoryMiB + overheadMiB,
): void {
  const needed = machines.length * each;
  if (needed <= available) return;
  const possible = Math.floor(available / each);
  const way =
    possible < 1
      ? 'free some, or use the namespace backend'
      : `free some, or make only ${possible} of them machines: --machines ${machines.slice(0, possible).join(',')}`;
  throw new Error(
    `${machines.length} machines (${machines.join(', ')}) need ${needed} MiB of memory, and ${available} MiB are available: ${way}`,
  );
}
