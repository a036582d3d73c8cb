/** Faults that a scenario asks for on the unix socket: what the next requests that fit meet instead of an answer. */
import type { ServerResponse } from 'node:http';
import * as z from 'zod/mini';
import type { ApiRequest } from './request.ts';
import { ApiError, badRequest, expired } from './status.ts';

const faultSchema = z.strictObject({
  /** Expired: 410. TooManyRequests: 429 with Retry-After. Unavailable: 503. Conflict: 409. Hang: no answer until the fault is lifted.
   * Mute: 200, and not a byte after the headers until the fault is lifted. Reset: the connection is cut. Garbage: 200 with
   * what is no JSON. Delay: `milliseconds` late, then as usual. */
  effect: z.enum([
    'Expired',
    'TooManyRequests',
    'Unavailable',
    'Conflict',
    'Hang',
    'Mute',
    'Reset',
    'Garbage',
    'Delay',
  ]),
  /** GET, PUT...; absent: any. */
  method: z.optional(z.string()),
  /** A regular expression on the path with its query, such as `watch=true`. */
  path: z.optional(z.string()),
  user: z.optional(z.string()),
  /** How many requests meet it; absent: all until it is lifted. */
  times: z.optional(z.int().check(z.positive())),
  milliseconds: z.optional(z.int().check(z.nonnegative())),
  /** What TooManyRequests asks to wait; absent: 1. */
  retryAfterSeconds: z.optional(z.int().check(z.positive())),
});

export type Fault = z.infer<typeof faultSchema>;

interface ActiveFault {
  id: number;
  fault: Fault;
  path: RegExp | undefined;
  hits: number;
  lifted: Promise<void>;
  lift: () => void;
}

export class Faults {
  readonly #active = new Map<number, ActiveFault>();
  #nextId = 1;

  /** Returns the fault's number. Throws 400 naming the field that is wrong. */
  add(source: unknown): number {
    const parsed = faultSchema.safeParse(source);
    if (!parsed.success) {
      const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
      throw badRequest(`fault: ${faults.join('; ')}`);
    }
    const { data } = parsed;
    let lift = (): void => {};
    const lifted = new Promise<void>((resolve) => {
      lift = resolve;
    });
    const path = data.path === undefined ? undefined : new RegExp(data.path);
    const id = this.#nextId++;
    this.#active.set(id, { id, fault: data, path, hits: 0, lifted, lift });
    return id;
  }

  /** Lifts one fault, or all: requests that hang get their connection cut. */
  lift(id?: number): void {
    for (const active of [...this.#active.values()]) {
      if (id !== undefined && active.id !== id) continue;
      active.lift();
      this.#active.delete(active.id);
    }
  }

  list(): object[] {
    return [...this.#active.values()].map(({ id, fault, hits }) => ({ id, ...fault, hits }));
  }

  /** Resolves to true where the fault has dealt with the response; throws the ApiError that a fault stands for. */
  async meet(request: ApiRequest, response: ServerResponse): Promise<boolean> {
    for (const active of this.#active.values()) {
      const { fault, path } = active;
      const query = request.query.toString();
      const text = query === '' ? request.path : `${request.path}?${query}`;
      if (fault.method !== undefined && fault.method !== request.method) continue;
      if (fault.user !== undefined && fault.user !== request.user.name) continue;
      if (path !== undefined && !path.test(text)) continue;
      if (fault.times !== undefined && active.hits >= fault.times) continue;
      active.hits++;
      return await this.#carryOut(active, request, response);
    }
    return false;
  }

  async #carryOut(active: ActiveFault, request: ApiRequest, response: ServerResponse): Promise<boolean> {
    switch (active.fault.effect) {
      case 'Expired':
        throw expired(Number(request.query.get('resourceVersion') ?? 0), 0);
      case 'TooManyRequests':
        throw new ApiError(429, 'TooManyRequests', 'too many requests, please try again later', {
          retryAfterSeconds: active.fault.retryAfterSeconds ?? 1,
        });
      case 'Unavailable':
        throw new ApiError(503, 'InternalError', 'the server is currently unable to handle the request');
      case 'Conflict':
        throw new ApiError(
          409,
          'Conflict',
          'the object has been modified; please apply your changes to the latest version and try again',
        );
      case 'Hang':
        await active.lifted;
        response.destroy();
        return true;
      case 'Mute':
        response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
        await active.lifted;
        response.destroy();
        return true;
      case 'Reset':
        // A RST is for plain TCP only: Node refuses it on the TLS socket of a connection, which is cut instead.
        response.socket?.destroy();
        return true;
      case 'Garbage':
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":');
        return true;
      case 'Delay':
        await new Promise((resolve) => setTimeout(resolve, active.fault.milliseconds ?? 1000));
        return false;
    }
  }
}
