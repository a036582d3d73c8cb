/** Waiting for something that can be seen, instead of sleeping. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** Milliseconds until it is given up. */
  timeoutMs: number;
  /** Milliseconds between two looks. Default 20. */
  intervalMs?: number;
}

/**
 * Looks until `look` returns something other than undefined.
 * @param what is waited for, as it should read in an error
 * @throws Error saying what was waited for, how long, and what the last look saw if it threw
 */
export async function waitFor<Seen>(
  what: string,
  look: () => Promise<Seen | undefined>,
  { timeoutMs, intervalMs = 20 }: WaitOptions,
): Promise<Seen> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  do {
    try {
      const seen = await look();
      if (seen !== undefined) return seen;
    } catch (error) {
      last = error;
    }
    await sleep(intervalMs);
  } while (Date.now() < deadline);
  const reason = last instanceof Error ? `: ${last.message}` : '';
  throw new Error(`waited ${timeoutMs} ms in vain for ${what}${reason}`, { cause: last });
}
