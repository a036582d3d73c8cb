/** Waits between attempts: doubling, with jitter, so that the agents of a cluster do not come back all at once. */
export class Backoff {
  readonly #firstMs: number;
  readonly #limitMs: number;
  #failures = 0;

  constructor(firstMs: number, limitMs: number) {
    this.#firstMs = firstMs;
    this.#limitMs = limitMs;
  }

  /** Milliseconds to wait after one more failure. */
  next(): number {
    const ceiling = Math.min(this.#limitMs, this.#firstMs * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 30);
    return ceiling / 2 + (Math.random() * ceiling) / 2;
  }

  reset(): void {
    this.#failures = 0;
  }
}
