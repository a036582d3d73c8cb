/** What a scenario has seen so far: exchanges, checks, counters, in the order they happened. */
import type { Host } from '../backends/host.ts';
import type { Check, CheckKind, CounterTable, Exchange, Story } from '../evidence/results.ts';
import type { Pace } from '../pace.ts';
import type { ProbeResult, Protocol } from '../station/protocol.ts';

export interface ProbeOptions {
  sourcePort?: number;
  size?: number;
  replySize?: number;
  /** UDP: hear ICMP errors instead of answers from elsewhere. */
  connected?: boolean;
  /** Milliseconds to wait for the answer. */
  timeoutMs?: number;
  /** What this exchange is for, where the check does not say it. */
  note?: string;
}

/** How long an exchange waits for its answer in namespaces, in milliseconds. */
const answerMs = 1000;

/** A target as a client dials it. */
export interface Target {
  protocol: Protocol;
  address: string;
  port: number;
}

export function formatTarget({ protocol, address, port }: Target): string {
  return `${protocol.toLowerCase()}://${address}:${port}`;
}

export class Record {
  readonly checks: Check[] = [];
  readonly exchanges: Exchange[] = [];
  readonly counters: CounterTable[] = [];
  readonly stories: Story[] = [];
  readonly #pace: Pace;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /**
   * One exchange from a client, recorded whatever came of it.
   * @param clientAddress the client's own address, for the record
   */
  async exchange(
    client: Host,
    clientAddress: string,
    target: Target,
    options: ProbeOptions = {},
  ): Promise<ProbeResult> {
    const { note, timeoutMs = this.#pace.packets(answerMs), ...rest } = options;
    const result = await client.station.request(
      'probe',
      { ...target, ...rest, timeoutMs },
      { timeoutMs: timeoutMs + this.#pace.time(5000) },
    );
    this.exchanges.push(exchangeRecord(client.name, clientAddress, target, result, note));
    return result;
  }

  check(kind: CheckKind, title: string, expected: unknown, seen: unknown, ok: boolean): boolean {
    const show = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
    this.checks.push({ kind, title, expected: show(expected), seen: show(seen), ok });
    return ok;
  }

  /** A check that two values are the same. */
  same(kind: CheckKind, title: string, expected: string | number | null, seen: string | number | null): boolean {
    return this.check(kind, title, expected, seen, expected === seen);
  }
}

/** An exchange as the report keeps it. */
export function exchangeRecord(
  client: string,
  clientAddress: string,
  target: Target,
  result: ProbeResult,
  note?: string,
): Exchange {
  return {
    client,
    protocol: target.protocol,
    dialled: `${target.address}:${target.port}`,
    // An unconnected socket is bound to no address, and one that was refused tells none.
    source: `${['', '0.0.0.0'].includes(result.source) ? clientAddress : result.source}${result.sourcePort === 0 ? '' : `:${result.sourcePort}`}`,
    answerFrom: result.from === null ? null : `${result.from}:${result.fromPort}`,
    podSaw: result.reply === null ? null : `${result.reply.peer}:${result.reply.peerPort}`,
    pod: result.reply?.pod ?? null,
    node: result.reply?.node ?? null,
    roundTripMs: result.roundTripMs,
    outcome: result.outcome,
    ...(note === undefined ? {} : { note }),
  };
}
