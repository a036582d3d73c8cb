/** What a machine prints on its serial console, and how far its boot has come by it. */
import { readFileSync, statSync } from 'node:fs';

/** Lines of lab/backends/vm/image/guest, in the order they appear. */
const milestones = [
  { line: 'lab: root mounted', name: 'root mounted' },
  { line: 'lab: init done', name: 'first process' },
  { line: 'lab: ready', name: 'ready for ssh' },
] as const;

export type Milestone = (typeof milestones)[number]['name'] | 'kernel' | 'nothing yet';

/** The end of the console's text; empty when the machine has printed nothing. */
export function consoleTail(path: string, bytes = 1500): string {
  try {
    const text = readFileSync(path, 'utf8');
    return text.slice(-bytes).trim();
  } catch {
    return '';
  }
}

export function milestoneReached(path: string): Milestone {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return 'nothing yet';
  }
  const last = milestones.findLast(({ line }) => text.includes(line));
  return last?.name ?? (text.length > 0 ? 'kernel' : 'nothing yet');
}

/** Bytes printed so far. */
export function consoleSize(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}
