/** What a check has found. */

export type FindingStatus = 'ok' | 'warning' | 'failed';

export interface Finding {
  /** Stable name of the check, `subject/what`. */
  check: string;
  /** failed: mappings cannot work, or not all of them; warning: they may not. */
  status: FindingStatus;
  /** What is there, in words that stay the same while it does: a node's row must not change with each pod. */
  found: string;
  /** Which, and how many. */
  detail?: string;
  /** What to do about it; only where something is to be done. */
  cure?: string;
}

export function ok(check: string, found: string): Finding {
  return { check, status: 'ok', found };
}

export function warning(check: string, found: string, cure: string): Finding {
  return { check, status: 'warning', found, cure };
}

export function failed(check: string, found: string, cure: string): Finding {
  return { check, status: 'failed', found, cure };
}

/** In one line, as a node's row has it. */
export function findingText({ found, cure }: Finding): string {
  return cure === undefined ? found : `${found}: ${cure}`;
}
