/** What the agents ask of the API server, as the server's own log has it. */

import type { RequestLine } from '../lab/cluster/request-log.ts';
import { agentUser, requestLogPath } from '../lab/control-plane.ts';
import type { ScenarioContext } from '../lab/scenario/context.ts';

/** The kinds an agent watches. */
export const watchedKinds = 7;

export interface AgentRequest {
  /** When it came in, in milliseconds since 1970 by the server's clock. */
  at: number;
  method: string;
  path: string;
  isWatch: boolean;
  status: number;
}

/** The requests of one node's agent from now on. */
export class AgentRequests {
  readonly #t: ScenarioContext;
  readonly #node: string;
  /** Where the log ended. */
  readonly #offset: number;

  private constructor(t: ScenarioContext, node: string, offset: number) {
    this.#t = t;
    this.#node = node;
    this.#offset = offset;
  }

  static async from(t: ScenarioContext, node: string): Promise<AgentRequests> {
    const { stdout } = await t.host(t.lab.topology.control.name).exec(['stat', '-c', '%s', requestLogPath]);
    return new AgentRequests(t, node, Number(stdout));
  }

  /** In the order in which they came in; those of which nothing has been answered yet are not among them. */
  async list(): Promise<AgentRequest[]> {
    const { stdout } = await this.#t
      .host(this.#t.lab.topology.control.name)
      .exec(['tail', '-c', `+${this.#offset + 1}`, requestLogPath]);
    const lines = stdout.split('\n').flatMap((text) => (text === '' ? [] : [JSON.parse(text) as RequestLine]));
    return lines
      .filter(({ user, stage }) => user === agentUser(this.#node) && stage !== 'ended')
      .map(({ time, milliseconds, method, path, query, status }) => ({
        ...{ at: Date.parse(time) - milliseconds, method, path, status },
        isWatch: query.includes('watch=true'),
      }))
      .sort((a, b) => a.at - b.at);
  }
}

/** The most that came within a second. */
export function mostPerSecond(requests: readonly AgentRequest[]): number {
  return Math.max(
    0,
    ...requests.map(({ at }) => requests.filter((other) => other.at >= at && other.at < at + 1000).length),
  );
}

/**
 * Requests for all objects of a kind. A collection is what is watched too: a single object is read as well, after a
 * conflict with another writer.
 */
export function lists(requests: readonly AgentRequest[]): AgentRequest[] {
  const collections = new Set(requests.filter(({ isWatch }) => isWatch).map(({ path }) => path));
  return requests.filter(({ method, path, isWatch }) => method === 'GET' && !isWatch && collections.has(path));
}

/** The shortest time between two requests for the same, in milliseconds; null when nothing was asked for twice. */
export function shortestGap(requests: readonly AgentRequest[]): number | null {
  const last = new Map<string, number>();
  let shortest: number | null = null;
  for (const { at, method, path } of requests) {
    const key = `${method} ${path}`;
    const before = last.get(key);
    if (before !== undefined) shortest = Math.min(shortest ?? Number.POSITIVE_INFINITY, at - before);
    last.set(key, at);
  }
  return shortest;
}
