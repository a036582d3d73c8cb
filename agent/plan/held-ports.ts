/** Ports that accepted mappings hold, by protocol, node and interface: finding who holds one costs a binary search. */
import type { PortRange } from './admission.ts';

interface Held<Holder> extends PortRange {
  holder: Holder;
}

export class HeldPorts<Holder> {
  /** Disjoint ranges in order: what overlaps has been refused. */
  readonly #ranges = new Map<string, Held<Holder>[]>();

  /** The first holder whose range overlaps, or undefined. */
  find(place: string, { port, endPort }: PortRange): Held<Holder> | undefined {
    const ranges = this.#ranges.get(place) ?? [];
    const candidate = ranges[this.#firstEndingAtOrAfter(ranges, port)];
    return candidate !== undefined && candidate.port <= endPort ? candidate : undefined;
  }

  add(place: string, range: PortRange, holder: Holder): void {
    const ranges = this.#ranges.get(place) ?? [];
    this.#ranges.set(place, ranges);
    ranges.splice(this.#firstEndingAtOrAfter(ranges, range.port), 0, { ...range, holder });
  }

  #firstEndingAtOrAfter(ranges: readonly Held<Holder>[], port: number): number {
    let [low, high] = [0, ranges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ranges[middle]?.endPort ?? 0) < port) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
