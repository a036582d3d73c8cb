/** Trouble on demand: a server that answers badly, slowly or not at all, for scenarios about agents that must bear it. */

export type FaultKind = 'gone' | 'too-many-requests' | 'error' | 'hang' | 'reset';

export interface Fault {
  kind: FaultKind;
  /** Requests whose path matches. */
  path: RegExp;
  /** How many more requests it hits. */
  remaining: number;
}

export class Faults {
  readonly #faults: Fault[] = [];

  add(kind: FaultKind, path: string, times: number): void {
    this.#faults.push({ kind, path: new RegExp(path), remaining: times });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** The fault that hits this request, if any; counted down. */
  take(path: string): FaultKind | null {
    const fault = this.#faults.find((each) => each.remaining > 0 && each.path.test(path));
    if (fault === undefined) return null;
    fault.remaining--;
    return fault.kind;
  }
}
