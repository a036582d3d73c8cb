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

export interface RunnerOptions {
  reportFolder: string;
  onStart?(scenario: NamedScenario): void;
  onResult?(result: ScenarioResult): void;
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

export async function runScenarios(
  lab: Lab,
  scenarios: readonly NamedScenario[],
  options: RunnerOptions,
): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  let dead: string | null = null;
  for (const [index, scenario] of scenarios.entries()) {
    if (dead !== null) {
      results.push({ ...skipped(scenario, `not run: ${dead}`), verdict: 'error' });
      continue;
    }
    const missing = missingFor(scenario, lab);
    if (missing !== null) {
      results.push(skipped(scenario, missing));
      continue;
    }
    options.onStart?.(scenario);
    const result = await runScenario(lab, scenario, `s${index + 1}`, options);
    results.push(result);
    options.onResult?.(result);
    // On a lab that has lost a host every further scenario would wait in vain.
    if (result.verdict !== 'passed') dead = await deadHost(lab);
  }
  return results;
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

function skipped({ name, sentence }: NamedScenario, reason: string): ScenarioResult {
  return {
    ...{ name, sentence, reason, milliseconds: 0, checks: [], exchanges: [], counters: [] },
    verdict: 'skipped',
  };
}

async function runScenario(
  lab: Lab,
  scenario: NamedScenario,
  namespace: string,
  { reportFolder }: RunnerOptions,
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
    ? await collectEvidence(reportFolder, scenario.name, evidenceSources(lab.backend.hosts(), context.captures))
    : undefined;
  const untidy = await attempt(async () => {
    await context.teardown.run();
    await awaitCleanHosts(lab);
  });
  failure ??= untidy;
  const { checks, exchanges, counters } = context.record;
  const verdict = judge({ checks, exchanges, ...(failure === undefined ? {} : { failure }) });
  return {
    name: scenario.name,
    sentence: scenario.sentence,
    ...verdict,
    milliseconds: performance.now() - begin,
    checks,
    exchanges,
    counters,
    ...(failure === undefined ? {} : { failure }),
    ...(evidence === undefined ? {} : { evidenceFolder: evidence.folder }),
  };
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
