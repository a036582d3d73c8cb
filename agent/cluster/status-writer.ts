/** Writes statuses with the version they were read at; a write that would change nothing is not made. */
import { isDeepStrictEqual } from 'node:util';
import type { PortMap, PortMapClass, PortMapStatus } from '../api/types.ts';
import type { NodePlan, PortMapStatusPlan } from '../plan/node-plan.ts';
import { type ApiClient, ApiError } from './api-client.ts';
import { mergeClassStatus, withCondition } from './class-status.ts';
import type { Cluster } from './cluster.ts';
import { classPath, portMapPath } from './resources.ts';

/** Many agents write one class: this many lost races in a row, and the next pass tries again. */
const attempts = 8;

export interface Written {
  object: string;
  what: string;
}

export class StatusWriter {
  readonly #client: ApiClient;
  readonly #cluster: Cluster;

  constructor(client: ApiClient, cluster: Cluster) {
    this.#client = client;
    this.#cluster = cluster;
  }

  /**
   * Claims and rows first: what waits for a slot waits for this.
   * @returns what was written
   * @throws the first error, after everything else has been tried
   */
  async write(plan: NodePlan): Promise<Written[]> {
    const { classes } = this.#cluster.reflectors;
    const writes = [
      ...classes.items().map((each) => () => this.#writeClass(each, plan)),
      ...plan.portMapStatuses.map((each) => () => this.#writePortMap(each)),
    ];
    const results = await Promise.allSettled(writes.map((write) => write()));
    const failed = results.find((each) => each.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return results.flatMap((each) => (each.status === 'fulfilled' && each.value !== null ? [each.value] : []));
  }

  async #writeClass(cached: PortMapClass, plan: NodePlan): Promise<Written | null> {
    let current = cached;
    const { name } = cached.metadata;
    for (let attempt = 1; ; attempt++) {
      const status = mergeClassStatus(current, plan, new Date().toISOString());
      if (isDeepStrictEqual(normalised(status), normalised(current.status))) return null;
      try {
        const stored = await this.#client.put<PortMapClass>(`${classPath(name)}/status`, { ...current, status });
        this.#cluster.reflectors.classes.learn(stored);
        return { object: `PortMapClass ${name}`, what: `row of ${plan.node}, ${status.links?.length ?? 0} links` };
      } catch (error) {
        if (isGone(error)) return null;
        if (!(error instanceof ApiError) || error.status !== 409 || attempt === attempts) throw error;
        current = await this.#client.get<PortMapClass>(classPath(name));
      }
    }
  }

  async #writePortMap(wanted: PortMapStatusPlan): Promise<Written | null> {
    const { namespace, name } = wanted;
    const current = this.#cluster.reflectors.portMaps.get(`${namespace}/${name}`);
    // A newer spec than the plan was made from: the next pass speaks of that one.
    if (current === undefined || (current.metadata.generation ?? 0) !== wanted.observedGeneration) return null;
    const status = portMapStatus(current, wanted);
    if (isDeepStrictEqual(status, current.status)) return null;
    try {
      const stored = await this.#client.put<PortMap>(`${portMapPath(namespace, name)}/status`, { ...current, status });
      this.#cluster.reflectors.portMaps.learn(stored);
    } catch (error) {
      // The watch brings the newer object, and with it the next pass.
      if (isGone(error) || (error instanceof ApiError && error.status === 409)) return null;
      throw error;
    }
    const programmed = status.conditions?.find((each) => each.type === 'Programmed');
    return {
      object: `PortMap ${namespace}/${name}`,
      what: `${programmed?.reason ?? ''} ${status.addresses ?? ''}`.trim(),
    };
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Empty lists and absent ones say the same. */
function normalised(status: PortMapClass['status']): unknown {
  return { links: status?.links ?? [], nodes: status?.nodes ?? [], conditions: status?.conditions ?? [] };
}

function portMapStatus(current: PortMap, wanted: PortMapStatusPlan): PortMapStatus {
  const now = new Date().toISOString();
  const old = current.status?.conditions ?? [];
  return {
    ...(wanted.endpoint === null ? {} : { endpoint: wanted.endpoint }),
    published: wanted.published,
    addresses: wanted.addresses,
    conditions: wanted.conditions.reduce((conditions, next) => withCondition(conditions, next, now), old),
  };
}
