/** A token bucket: however badly things go, the API server sees no more requests than this. */
import { setTimeout as sleep } from 'node:timers/promises';

export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #at = performance.now();

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /** Waits for one's turn; those who wait are served in order. */
  async take(): Promise<void> {
    const now = performance.now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    // Below zero: a place in the queue.
    this.#tokens -= 1;
    if (this.#tokens < 0) await sleep((-this.#tokens / this.#perSecond) * 1000);
  }
}
