/**
 * The record of a run: what results.json holds, and the only input of the report, junit.xml and the terminal's table.
 * Everything is plain data. Durations are milliseconds; addresses carry their port where one took part.
 */
import type { ProbeResult, Protocol } from '../station/protocol.ts';
import type { TopologyPicture } from './topology-picture.ts';

/** Raised whenever a reader of results.json written before would misread it. */
export const RESULTS_VERSION = 1;

export type Verdict = 'passed' | 'failed' | 'error' | 'skipped';

/**
 * - positive control: shows that the instrument works (the same probe succeeds where it must), so that the rest means something
 * - assertion: what the scenario is about
 * - negative: something did not happen; worth nothing without a positive control
 */
export type CheckKind = 'positive control' | 'assertion' | 'negative';

export interface Check {
  title: string;
  kind: CheckKind;
  expected: string;
  seen: string;
  ok: boolean;
}

/** One question and its answer, as each end saw it. `address:port` throughout. */
export interface Exchange {
  client: string;
  protocol: Protocol;
  dialled: string;
  /** The client's own address and port when it sent. */
  source: string;
  /** The node whose interface took the packet in; found by the dialled address when absent. */
  acceptingNode?: string;
  /** Where the answer came from; null without one. */
  answerFrom: string | null;
  /** The client as the pod saw it; null when the pod saw nothing, or its words never came back. */
  podSaw: string | null;
  pod: string | null;
  /** The node that pod is on. */
  node: string | null;
  roundTripMs: number | null;
  outcome: ProbeResult['outcome'];
  /** What this exchange was for, when the check's title does not say it. */
  note?: string;
}

export interface Count {
  packets: number;
  /** Null for counters that do not count bytes, such as a link's collisions. */
  bytes: number | null;
}

export type CounterKind = 'rule' | 'element' | 'named counter' | 'link';

export interface CounterRow {
  kind: CounterKind;
  /** Where it is counted: `ip kuport kup-mangle` for a rule, `ip kuport @ports` for an element, the device for a link. */
  place: string;
  /** The rule's comment, else its text; an element's key and comment; for a link what is counted, e.g. `tx errors`. */
  subject: string;
  /** The rule as nft prints it, where the subject is its comment. */
  text?: string;
  before: Count;
  after: Count;
}

export interface CounterTable {
  host: string;
  /** What lies between before and after, e.g. `10 probes from client-a`. */
  about?: string;
  rows: CounterRow[];
}

/** Addresses of a packet, `address:port` each. */
export interface PacketAddresses {
  source: string;
  destination: string;
}

/** A host that one exchange passed through, as its connection tracking and its counters tell. */
export interface Hop {
  host: string;
  role: 'router' | 'node';
  /** The request as it came in and as it went out. */
  arrived: PacketAddresses;
  left: PacketAddresses;
  /** Whose device has the address it was sent to: `worker-b's kup-a8dc8e71`; absent for what is no host's. */
  sentTo?: string;
  /** Something came back through here. */
  answered: boolean;
  /** Connection mark, 0 for none. */
  mark: number;
  /** The entry as conntrack prints it. */
  entry: string;
  /** kuport's counters, its links' and those of rules that drop, which moved here. */
  moved: CounterRow[];
}

/** One exchange, hop by hop, by what the hosts counted and tracked: nothing in it is what should have happened. */
export interface Story {
  /** What the exchange was for. */
  title: string;
  exchange: Exchange;
  hops: Hop[];
  /** Counters before and after it, moved or not, of every host that took part. */
  counters: CounterTable[];
  /** The first hop where what was seen is not what was expected, as a sentence; absent where nothing differs. */
  difference?: string;
}

export interface Failure {
  message: string;
  stack?: string;
}

export interface ScenarioResult {
  /** `theme/name`, e.g. `single/cross-node`. */
  name: string;
  /** What it proves, as one sentence. */
  sentence: string;
  verdict: Verdict;
  /** Which time round, from 1, where a run repeats its scenarios. */
  round?: number;
  /** The lab it ran on, where several stood side by side. */
  lab?: string;
  /** Why the verdict is not `passed`. */
  reason?: string;
  milliseconds: number;
  checks: Check[];
  exchanges: Exchange[];
  counters: CounterTable[];
  stories?: Story[];
  /** Folder with what the hosts held, relative to the report's folder: `evidence/single/cross-node`. */
  evidenceFolder?: string;
  /** What most likely went wrong, in words, when something looked for a cause. */
  diagnosis?: string;
  failure?: Failure;
}

export interface Phase {
  name: string;
  milliseconds: number;
}

export interface Versions {
  kernel: string;
  nft: string;
  iproute2: string;
  /** Which one, and its version: `kernel 1.0.0`. */
  wireguard: string;
  node: string;
}

export interface Run {
  /** ISO 8601 with time zone. */
  startedAt: string;
  topology: TopologyPicture;
  /** What the hosts are made of: `netns`, `vm`, `kind`, `talos`. */
  backend: string;
  versions: Versions;
  /** In the order in which they took place. */
  phases: Phase[];
  scenarios: ScenarioResult[];
  /** Rounds, labs side by side, and the seed of the order where it was shuffled. */
  plan?: { repeat: number; jobs: number; seed?: number };
  /** Set when the lab itself did not come up: then there are few scenarios or none, and the run has failed. */
  setupFailure?: Failure & { evidenceFolder?: string };
}

/** What a scenario left behind, before anyone has said how it went. */
export interface Observed {
  checks: readonly Check[];
  exchanges: readonly Exchange[];
  failure?: Failure;
  /** Why it did not run at all. */
  skipped?: string;
}

/**
 * Says how a scenario went. A verdict of `passed` needs packets: without a single exchange, without a check, with a
 * positive control that failed, or with a negative check and no positive control beside it, nothing was measured, and
 * that is an `error`, not a success. A scenario that threw after a check had failed has `failed`; one that threw
 * for another reason could not be carried out: `error`.
 */
export function judge(observed: Observed): { verdict: Verdict; reason?: string } {
  const { checks, exchanges, failure, skipped } = observed;
  if (skipped !== undefined) return { verdict: 'skipped', reason: skipped };

  const brokenControl = checks.find((check) => check.kind === 'positive control' && !check.ok);
  if (brokenControl) {
    return error(`positive control failed, so nothing else here was measured: ${describe(brokenControl)}`);
  }
  const broken = checks.filter((check) => !check.ok);
  const [firstBroken] = broken;
  if (firstBroken && exchanges.length > 0) {
    const others = broken.length > 1 ? ` (and ${broken.length - 1} more)` : '';
    return { verdict: 'failed', reason: `${describe(firstBroken)}${others}` };
  }
  if (failure) return error(`could not be carried out: ${failure.message}`);
  if (exchanges.length === 0) return error('made no exchange: no packet supports a verdict');
  if (checks.length === 0) return error('checked nothing');
  if (checks.some((check) => check.kind === 'negative') && !checks.some((check) => check.kind === 'positive control')) {
    return error('a negative check without a positive control: silence alone proves nothing');
  }
  return { verdict: 'passed' };
}

export interface Summary {
  passed: number;
  failed: number;
  error: number;
  skipped: number;
  /** Time spent in scenarios. */
  milliseconds: number;
  /** True when something ran, all that ran passed, and the lab came up. Decides the exit status. */
  ok: boolean;
}

/** Counts the verdicts of a run. A run in which nothing passed is not ok, however little failed. */
export function summarise(run: Pick<Run, 'scenarios' | 'setupFailure'>): Summary {
  const count = (verdict: Verdict): number => run.scenarios.filter((scenario) => scenario.verdict === verdict).length;
  const [passed, failed, errors, skipped] = [count('passed'), count('failed'), count('error'), count('skipped')];
  return {
    passed,
    failed,
    error: errors,
    skipped,
    milliseconds: run.scenarios.reduce((sum, scenario) => sum + scenario.milliseconds, 0),
    ok: passed > 0 && failed === 0 && errors === 0 && run.setupFailure === undefined,
  };
}

function error(reason: string): { verdict: 'error'; reason: string } {
  return { verdict: 'error', reason };
}

function describe(check: Check): string {
  return `${check.title}: expected ${check.expected}, seen ${check.seen}`;
}
