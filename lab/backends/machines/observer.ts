/** Told how each machine comes up. */
export interface MachineObserver {
  /** Begins a step; `machine` is a name, or what else takes time. */
  start(what: string): { reached(milestone: string): void; done(detail: string): void; fail(reason: string): void };
  line(text: string): void;
}
