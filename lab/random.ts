/** Chance that can be repeated: the same seed draws the same numbers. */

/** A small generator with a seed (mulberry32, public domain). @returns a function that draws from 0 to below 1 */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The same things in an order that `draw` decides (Fisher-Yates). */
export function shuffled<Thing>(things: readonly Thing[], draw: () => number): Thing[] {
  const left = [...things];
  const order: Thing[] = [];
  while (left.length > 0) order.push(...left.splice(Math.floor(draw() * left.length), 1));
  return order;
}

/** A seed for a run that named none: small enough to be typed again. */
export function newSeed(): number {
  return Date.now() % 1_000_000;
}
