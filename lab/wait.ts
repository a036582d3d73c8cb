/** Waiting for something that can be seen, instead of sleeping. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** Milliseconds until it is given up. */
  timeoutMs: number;
  /** Milliseconds between two looks. Default 20. */
  intervalMs?: number;
  /**
   * At least this many times as long as a look took passes before the next: looking costs the machine that is waited for,
   * and a look that takes long shows a machine that is busy. Default 1.
   */
  restFactor?: number;
}

/**
 * Looks until `look` returns something other than undefined.
 * @param what is waited for, as it should read in an error
 * @throws Error saying what was waited for, how long, and what the last look saw if it threw
 */
export async function waitFor<Seen>(
  what: string,
  look: () => Promise<Seen | undefined>,
  { timeoutMs, intervalMs = 20, restFactor = 1 }: WaitOptions,
): Promise<Seen> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  do {
    const begin = Date.now();
    try {
      const seen = await look();
      if (seen !== undefined) return seen;
    } catch (error) {
      last = error;
    }
    await sleep(Math.max(intervalMs, restFactor * (Date.now() - begin)));
  } while (Date.now() < deadline);
  const reason = last instanceof Error ? `: ${last.message}` : '';
  throw new Error(`waited ${timeoutMs} ms in vain for ${what}${reason}`, { cause: last });
}
