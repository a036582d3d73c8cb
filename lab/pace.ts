/**
 * How slow the machines of a lab are, as measured when it came up. Time-outs are written for namespaces, which run at the
 * speed of the processor; an emulated machine takes many times as long for the same work, and how many depends on how many
 * there are and on what else runs.
 */
import type { Host } from './backends/host.ts';

/** What a process of Node takes to start and end in a namespace while one starts in each other node too, in milliseconds. */
const referenceMs = 150;

/** Measures on all hosts at once, as they work at once. @returns at least 1 */
export async function measurePace(hosts: readonly Host[]): Promise<number> {
  const times = await Promise.all(
    hosts.map(async (host) => {
      const { milliseconds } = await host.exec([...host.installation.node, '-e', '0'], { timeoutMs: 120_000 });
      return milliseconds;
    }),
  );
  return Math.max(1, Math.max(...times) / referenceMs);
}

export class Pace {
  /** How many times slower than namespaces; 1 for namespaces. */
  readonly factor: number;

  constructor(factor: number) {
    this.factor = factor;
  }

  /** Milliseconds allowed for work that is given `milliseconds` in namespaces. */
  time(milliseconds: number): number {
    return Math.round(milliseconds * this.factor);
  }

  /**
   * Milliseconds allowed for one exchange of packets. They are handled in the kernel, and by a process that runs already:
   * no more than five times slower than in namespaces where starting a process was twelve times slower.
   */
  packets(milliseconds: number): number {
    return Math.round(milliseconds * Math.min(this.factor, 5));
  }
}
