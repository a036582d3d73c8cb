/**
 * The checks of a running agent: all of them once it serves, those whose answer may change again and again. They are
 * some twenty processes, which must not stand between a start and the first pass.
 */
import { isDeepStrictEqual } from 'node:util';
import type { HostFacts } from '../plan/node-plan.ts';
import { type Finding, findingText } from './finding.ts';
import { checkHost } from './host-checks.ts';
import { checkKernel } from './kernel.ts';
import { checkTools } from './tools.ts';

/** Milliseconds between looks; each is a few short commands. */
const intervalMs = 60_000;

export type Findings = NonNullable<HostFacts['findings']>;

export class CheckWatch {
  readonly #onChange: (findings: readonly Finding[]) => void;
  #lasting: Finding[] = [];
  #current: Findings | undefined;

  /** @param onChange told of what is not well after the first look, and whenever that has changed */
  constructor(onChange: (findings: readonly Finding[]) => void) {
    this.#onChange = onChange;
  }

  /** For this node's rows in the classes' status; undefined before the first look. */
  get current(): Findings | undefined {
    return this.#current;
  }

  /** @returns once everything has been looked at for the first time */
  async start(): Promise<void> {
    const [tools, kernel, host] = await Promise.all([checkTools(), checkKernel(), checkHost()]);
    this.#lasting = [...tools, ...kernel];
    this.#take(host);
    const schedule = (): void => {
      setTimeout(async () => {
        this.#take(await checkHost());
        schedule();
      }, intervalMs).unref();
    };
    schedule();
  }

  #take(host: readonly Finding[]): void {
    const all = [...this.#lasting, ...host].filter((each) => each.status !== 'ok');
    const texts = (status: Finding['status']): string[] =>
      all.filter((each) => each.status === status).map(findingText);
    const findings = { failed: texts('failed'), warnings: texts('warning') };
    if (isDeepStrictEqual(findings, this.#current)) return;
    this.#current = findings;
    this.#onChange(all);
  }
}
