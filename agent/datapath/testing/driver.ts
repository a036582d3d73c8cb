/**
 * Runs inside a throw-away network namespace and does there what a test asks for: one JSON request a line on stdin, one
 * answer a line on stdout.
 */
import { execFile } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { HostFacts, NodePlan } from '../../plan/node-plan.ts';
import { cleanup, cleanupChange } from '../cleanup.ts';
import { Datapath } from '../datapath.ts';
import { DriftMonitor, type DriftSubject } from '../drift.ts';
import type { Element, Elements } from '../elements.ts';
import { readHostFacts } from '../host.ts';
import { observe } from '../observe.ts';

let datapath = new Datapath();
const drift: string[] = [];
const monitor = new DriftMonitor({
  onDrift: (subject, what) => drift.push(`${subject}: ${what}`),
  onError: () => undefined,
  isOwnCommit: (processId) => datapath.isOwnCommit(processId),
});

const methods = {
  /** Output of a shell command; an error with its stderr when it fails. */
  async sh(command: string): Promise<string> {
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  },
  async apply(plan: NodePlan) {
    const host = await datapath.look();
    const begin = performance.now();
    const applied = await datapath.apply(plan, host);
    return { applied, ms: performance.now() - begin };
  },
  /** As after a restart of the agent. */
  async restart(): Promise<void> {
    datapath = new Datapath();
  },
  async distrust(subject: DriftSubject = 'ours'): Promise<void> {
    datapath.distrust(subject);
  },
  async facts(): Promise<HostFacts> {
    return readHostFacts();
  },
  /** As JSON carries it: sets as lists, without what they have counted. */
  async observe() {
    const { sets, idleTimeouts, ...rest } = await observe();
    const lists = (elements: Iterable<[string, Elements]>): Record<string, [string, Omit<Element, 'counter'>][]> =>
      Object.fromEntries(
        [...elements].map(([name, each]) => [name, [...each].map(([key, { counter, ...element }]) => [key, element])]),
      );
    return {
      ...rest,
      sets: lists(Object.entries(sets)),
      idleTimeouts: { ...idleTimeouts, sets: lists(idleTimeouts.sets) },
    };
  },
  async cleanup(dryRun: boolean) {
    return dryRun ? cleanupChange() : cleanup();
  },
  async watch(): Promise<void> {
    monitor.start();
  },
  /** What the monitors have said since the last time. */
  async drift(): Promise<string[]> {
    return drift.splice(0);
  },
};

export type DriverMethods = typeof methods;

for await (const line of createInterface({ input: process.stdin })) {
  const { method, argument } = JSON.parse(line) as { method: keyof DriverMethods; argument: never };
  try {
    const result = await methods[method](argument);
    process.stdout.write(`${JSON.stringify({ result: result ?? null })}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ error: (error as Error).message })}\n`);
  }
}
monitor.stop();
