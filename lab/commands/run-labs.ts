/** Runs scenarios on labs that it boots, several side by side if asked, or on one that is up; writes the report. */
import { rm } from 'node:fs/promises';
import { isAlive, stateFolder } from '../backends/netns/state-folder.ts';
import { pictureOf } from '../evidence/picture-of.ts';
import { writeReport } from '../evidence/report.ts';
import type { Run, ScenarioResult } from '../evidence/results.ts';
import { Lab } from '../lab.ts';
import { discoverScenarios } from '../scenario/discover.ts';
import { kuportApiVersion } from '../scenario/kuport-objects.ts';
import { type QueuedScenario, queueOf } from '../scenario/queue.ts';
import { type LabRun, notRun, runScenarios } from '../scenario/runner.ts';
import type { Progress, Step } from '../terminal/progress.ts';
import { loadTopology } from '../topology/load.ts';
import type { Topology } from '../topology/topology.ts';
import type { BackendOptions } from './backend-options.ts';
import { boot, SetUpError } from './boot.ts';
import { combineVersions, readNodeVersions } from './versions.ts';

export interface RunOptions {
  topology: string;
  /** A lab of that name that is up is used and left up; otherwise one is booted under it. */
  name: string;
  filters: readonly string[];
  /** Folder the report is written to. */
  report: string;
  backend: BackendOptions;
  /** How many times the whole list is run. Default 1. */
  repeat?: number;
  /** Seed of the order; undefined for the order of names. */
  seed?: number;
  /** Labs side by side. Default 1. */
  jobs?: number;
  /** Stop at the first failure and leave the lab up as it is. */
  keepOnFailure?: boolean;
}

/** A lab that was left up because a scenario had failed on it. */
export interface KeptLab {
  lab: string;
  scenario: ScenarioResult;
  nodes: string[];
}

export interface RunOutcome {
  run: Run;
  page: string;
  kept: KeptLab[];
}

/** What came of one lab. */
interface LabOutcome {
  results: ScenarioResult[];
  facts: { versions: Run['versions']; wireguard: Lab['state']['wireguard']; phases: Run['phases'] } | null;
  kept: KeptLab | null;
  failure: SetUpError | null;
  dead: string | null;
}

/** @returns what came of it; @throws Error for scenarios, topologies and labs that are not there */
export async function runOnLabs(options: RunOptions, progress: Progress): Promise<RunOutcome> {
  const { repeat = 1, jobs = 1, seed } = options;
  const scenarios = await discoverScenarios(options.filters);
  const up = await labThatIsUp(options.name, jobs);
  const topology = up?.topology ?? loadTopology(options.topology);
  const queue = queueOf(scenarios, { repeat, seed, jobs });
  const startedAt = new Date().toISOString();
  await rm(options.report, { recursive: true, force: true });

  const begin = performance.now();
  const outcomes = await Promise.all(
    Array.from({ length: jobs }, (_, index) =>
      oneLab(up, jobs === 1 ? options.name : `${options.name}-${index + 1}`, topology, queue, options, progress),
    ),
  );
  const wall = performance.now() - begin;
  const results = [...outcomes.flatMap((each) => each.results), ...leftOver(queue, outcomes)];
  const [first] = outcomes.flatMap((each) => each.facts ?? []);
  // Where one lab of several did not come up the others have run everything; that is said, and is no success.
  const failure = outcomes.map((each) => each.failure).find((each) => each !== null);
  const bootMs = (first?.phases ?? []).reduce((sum, phase) => sum + phase.milliseconds, 0);
  const run: Run = {
    startedAt,
    topology: pictureOf(topology, first?.wireguard ?? null),
    backend: up?.backend.kind ?? options.backend.backend,
    versions: first?.versions ?? { kernel: '', nft: '', iproute2: '', wireguard: '', node: process.versions.node },
    phases: [...(first?.phases ?? []), { name: 'scenarios', milliseconds: Math.max(0, wall - bootMs) }],
    scenarios: results,
    plan: { repeat, jobs, ...(seed === undefined ? {} : { seed }) },
    ...(failure === undefined
      ? {}
      : {
          setupFailure: {
            message: failure.message,
            ...(failure.evidenceFolder === null ? {} : { evidenceFolder: failure.evidenceFolder }),
          },
        }),
  };
  const { page } = await writeReport(options.report, run);
  return { run, page, kept: outcomes.flatMap((each) => each.kept ?? []) };
}

/** The lab of that name when it is up and free of anything that scenarios would trip over; null when there is none. */
async function labThatIsUp(name: string, jobs: number): Promise<Lab | null> {
  if (!isAlive(stateFolder(name))) return null;
  if (jobs > 1) throw new Error(`lab "${name}" is up: --jobs ${jobs} boots labs of its own, so leave out --name`);
  const lab = await Lab.attach(name);
  const { items: mappings } = await lab.cluster.list<{ metadata: { namespace?: string; name: string } }>(
    kuportApiVersion,
    'PortMap',
  );
  if (mappings.length === 0) return lab;
  lab.disconnect();
  const names = mappings.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  throw new Error(
    `lab "${name}" holds PortMaps (${names.join(', ')}), and a scenario counts every rule on a node: delete them, or leave out --name to boot another lab`,
  );
}

async function oneLab(
  up: Lab | null,
  name: string,
  topology: Topology,
  queue: QueuedScenario[],
  options: RunOptions,
  progress: Progress,
): Promise<LabOutcome> {
  const { jobs = 1, repeat = 1 } = options;
  let lab: Lab;
  try {
    lab = up ?? (await boot({ name, topology }, options.backend, progress, options.report));
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    return { results: [], facts: null, kept: null, failure: error, dead: null };
  }
  const versions = combineVersions(await readNodeVersions(lab));
  const facts = { versions, wireguard: lab.state.wireguard, phases: up === null ? lab.state.phases : [] };
  let step: Step | null = null;
  const { results, kept, dead }: LabRun = await runScenarios(lab, queue, {
    reportFolder: options.report,
    keepOnFailure: options.keepOnFailure ?? false,
    onStart: ({ scenario, round }) => {
      step = progress.start(
        `${scenario.name}${repeat > 1 ? ` (round ${round} of ${repeat})` : ''}${jobs > 1 ? ` [${name}]` : ''}`,
      );
    },
    onResult: ({ verdict, reason = '' }) => {
      if (verdict === 'passed') step?.done();
      else step?.fail(`${verdict}: ${reason.split('\n')[0]}`);
    },
  });
  if (kept !== null) await lab.letGo();
  else if (lab.attached) {
    await lab.saveAgents().catch(() => undefined);
    lab.disconnect();
  } else await lab.down();
  return {
    results: jobs > 1 ? results.map((result) => ({ ...result, lab: name })) : results,
    facts,
    kept: kept === null ? null : { lab: name, scenario: kept, nodes: topology.nodes.map((node) => node.name) },
    failure: null,
    dead,
  };
}

/** What nobody ran, and why: a run that ends early must not look complete. */
function leftOver(queue: QueuedScenario[], outcomes: readonly LabOutcome[]): ScenarioResult[] {
  const kept = outcomes.find((each) => each.kept !== null)?.kept;
  const dead = outcomes.find((each) => each.dead !== null)?.dead;
  return queue
    .splice(0)
    .map((queued) =>
      kept === null || kept === undefined
        ? notRun(queued, 'error', `not run: ${dead ?? 'no lab came up'}`)
        : notRun(queued, 'skipped', `not run: the lab is kept as ${kept.scenario.name} left it`),
    );
}
