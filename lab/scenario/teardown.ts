/** Undoing in reverse order, each step named, all of them whatever fails. */

export class Teardown {
  readonly #steps: { name: string; undo: () => Promise<unknown> }[] = [];

  add(name: string, undo: () => Promise<unknown>): void {
    this.#steps.push({ name, undo });
  }

  /** Runs every step, last added first. @throws AggregateError naming the steps that failed, after all have run. */
  async run(): Promise<void> {
    const errors: Error[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.undo();
      } catch (error) {
        errors.push(new Error(`tear-down step "${step.name}": ${(error as Error).message}`, { cause: error }));
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, errors.map((error) => error.message).join('\n'));
  }
}
