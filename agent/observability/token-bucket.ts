/** So many at once, then one per interval; what comes above that is refused, not kept waiting. */
export class TokenBucket {
  readonly #burst: number;
  readonly #refillMs: number;
  #tokens: number;
  #at: number;

  /**
   * @param refillMs milliseconds that bring one token
   * @param now milliseconds, on a clock that never goes back
   */
  constructor(burst: number, refillMs: number, now = performance.now()) {
    this.#burst = burst;
    this.#refillMs = refillMs;
    this.#tokens = burst;
    this.#at = now;
  }

  /** @returns false when there is none left */
  take(now = performance.now()): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) / this.#refillMs);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
