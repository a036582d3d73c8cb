/** Named stretches of time, so that a user sees what start-up costs. */
export interface Phase {
  name: string;
  milliseconds: number;
}

export class Phases {
  readonly done: Phase[] = [];
  readonly #report: (phase: Phase) => void;

  constructor(report: (phase: Phase) => void) {
    this.#report = report;
  }

  /** Runs `work` as a phase; a phase that fails is reported too, and says in its error which it was. */
  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const start = performance.now();
    try {
      return await work();
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
    } finally {
      const phase = { name, milliseconds: performance.now() - start };
      this.done.push(phase);
      this.#report(phase);
    }
  }
}
