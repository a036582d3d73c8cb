/** Runs scenarios on a lab, one after the other, and records how each went. */
import { setTimeout as sleep } from 'node:timers/promises';
import { agentLog } from '../agents.ts';
import type { Host } from '../backends/host.ts';
import type { Capture } from '../evidence/capture.ts';
import { collectEvidence, type EvidenceSource } from '../evidence/collect.ts';
import { type Failure, judge, type ScenarioResult } from '../evidence/results.ts';
import type { Lab } from '../lab.ts';
import { awaitCleanHosts } from './clean-hosts.ts';
import { ScenarioContext } from './context.ts';
import type { NamedScenario } from './discover.ts';
import type { QueuedScenario } from './queue.ts';

export interface RunnerOptions {
  reportFolder: string;
  /** Stop at the first scenario that does not pass, and leave everything as that one left it. */
  keepOnFailure?: boolean;
  onStart?(queued: QueuedScenario): void;
  onResult?(result: ScenarioResult): void;
}

export interface LabRun {
  results: ScenarioResult[];
  /** The scenario whose pods, objects and rules are still there; null when everything has been cleared away. */
  kept: ScenarioResult | null;
  /** Why this lab took no more scenarios before the queue was empty. */
  dead: string | null;
}

const defaultTimeoutMs = 30_000;

/** What every host can show of a failure: its state and what its processes have said. */
export function evidenceSources(hosts: readonly Host[], captures: readonly Capture[] = []): EvidenceSource[] {
  return hosts.map((host) => ({
    host,
    captures: captures.filter((capture) => capture.host === host).map((capture) => capture.file),
    logs:
      host.role === 'node' ? [agentLog, 'wireguard-go'] : host.role === 'control' ? ['apiserver', 'wireguard-go'] : [],
  }));
}

/** Takes scenarios from the queue, which other labs may draw from as well, until it is empty or this lab can do no more. */
export async function runScenarios(lab: Lab, queue: QueuedScenario[], options: RunnerOptions): Promise<LabRun> {
  const results: ScenarioResult[] = [];
  let taken = 0;
  for (let queued = queue.shift(); queued !== undefined; queued = queue.shift()) {
    const missing = missingFor(queued.scenario, lab);
    if (missing !== null) {
      results.push(notRun(queued, 'skipped', missing));
      continue;
    }
    options.onStart?.(queued);
    const result = await runScenario(lab, queued, `s${++taken}`, options);
    results.push(result);
    options.onResult?.(result);
    if (result.verdict === 'passed') continue;
    if (options.keepOnFailure === true) return { results, kept: result, dead: null };
    // On a lab that has lost a host every further scenario would wait in vain.
    const dead = await deadHost(lab);
    if (dead !== null) return { results, kept: null, dead };
  }
  return { results, kept: null, dead: null };
}

/** A scenario that was wanted and has not been run. */
export function notRun(
  { scenario: { name, sentence }, round }: QueuedScenario,
  verdict: 'skipped' | 'error',
  reason: string,
): ScenarioResult {
  return { name, sentence, verdict, round, reason, milliseconds: 0, checks: [], exchanges: [], counters: [] };
}

/** What the first host that no longer answers says of itself; null when all answer. */
async function deadHost(lab: Lab): Promise<string | null> {
  for (const host of lab.backend.hosts()) {
    if (host.role === 'pod') continue;
    const reason = await host.station.request('ping', {}).then(
      () => null,
      (error: Error) => error.message,
    );
    if (reason !== null) return reason;
  }
  return null;
}

/** Why a scenario cannot run on this lab; null when it can. */
function missingFor({ ownKernels = [] }: NamedScenario, lab: Lab): string | null {
  const shared = ownKernels.filter((node) => lab.backend.substanceOf(node) !== 'machine');
  if (shared.length === 0) return null;
  return `needs nodes with a kernel of their own, and ${shared.join(' and ')} share this one: run it with --backend vm`;
}

async function runScenario(
  lab: Lab,
  { scenario, round }: QueuedScenario,
  namespace: string,
  { reportFolder, keepOnFailure }: RunnerOptions,
): Promise<ScenarioResult> {
  const context = new ScenarioContext(lab, namespace);
  const begin = performance.now();
  let failure = await attempt(async () => {
    await lab.workload.createNamespace(namespace);
    context.defer('namespace', () => lab.cluster.delete('v1', 'Namespace', namespace));
    await withTimeout(scenario.run(context), lab.pace.time(scenario.timeoutMs ?? defaultTimeoutMs));
  });
  // Before anything is cleared away: the state that failed is the evidence.
  const failing = failure !== undefined || context.record.checks.some((check) => !check.ok);
  const evidence = failing
    ? await collectEvidence(
        reportFolder,
        evidenceName(scenario.name, round),
        evidenceSources(lab.backend.hosts(), context.captures),
      )
    : undefined;
  const untidy =
    failing && keepOnFailure === true
      ? undefined
      : await attempt(async () => {
          await context.teardown.run();
          await awaitCleanHosts(lab);
        });
  failure ??= untidy;
  const { checks, exchanges, counters, stories } = context.record;
  const verdict = judge({ checks, exchanges, ...(failure === undefined ? {} : { failure }) });
  return {
    name: scenario.name,
    sentence: scenario.sentence,
    round,
    ...verdict,
    milliseconds: performance.now() - begin,
    checks,
    exchanges,
    counters,
    ...(stories.length === 0 ? {} : { stories }),
    ...(context.diagnosis === undefined ? {} : { diagnosis: context.diagnosis }),
    ...(failure === undefined ? {} : { failure }),
    ...(evidence === undefined ? {} : { evidenceFolder: evidence.folder }),
  };
}

/** Each round has evidence of its own. */
function evidenceName(scenario: string, round: number): string {
  return round === 1 ? scenario : `${scenario}-round-${round}`;
}

async function attempt(work: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const { message, stack } = error as Error;
    return { message, ...(stack === undefined ? {} : { stack }) };
  }
}

async function withTimeout(work: Promise<void>, timeoutMs: number): Promise<void> {
  const abort = new AbortController();
  const late = sleep(timeoutMs, undefined, { signal: abort.signal }).then(
    () => {
      throw new Error(`the scenario did not end within ${timeoutMs / 1000} s`);
    },
    () => undefined,
  );
  try {
    await Promise.race([work, late]);
  } finally {
    abort.abort();
  }
}
