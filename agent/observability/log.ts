/** JSON lines on stdout, one for each thing that changed or failed; none for a pass that found nothing to do. */
import pino, { type Logger } from 'pino';

export type Log = Logger;

/** @param level pino's: fatal, error, warn, info, debug, trace */
export function createLog(level: string, node: string): Log {
  return pino(
    { level, base: { node }, timestamp: pino.stdTimeFunctions.isoTime },
    // Written at once: a killed agent must not take its last words along.
    pino.destination({ dest: 1, sync: true }),
  );
}

/** Lets an error through when it differs from the last one of its subject: an outage is one line, not one a second. */
export class Repetition {
  readonly #last = new Map<string, string>();

  isNew(subject: string, message: string): boolean {
    if (this.#last.get(subject) === message) return false;
    this.#last.set(subject, message);
    return true;
  }

  /** @returns true when there was trouble with it until now */
  isOver(subject: string): boolean {
    return this.#last.delete(subject);
  }
}
