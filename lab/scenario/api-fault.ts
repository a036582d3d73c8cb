/** A fault of the lab's API server as a handle: it says how often it was met, and is lifted with its scenario at the latest. */
import type { ClusterClient } from '../cluster/client.ts';
import type { Fault } from '../cluster/faults.ts';

export class ApiFault {
  readonly #client: ClusterClient;
  readonly #id: number;
  /** Hits so far once it has been lifted. */
  #lifted: number | null = null;

  private constructor(client: ClusterClient, id: number) {
    this.#client = client;
    this.#id = id;
  }

  /** @throws ClusterError naming the field of the fault that is wrong */
  static async set(client: ClusterClient, fault: Fault): Promise<ApiFault> {
    const { id } = await client.call<{ id: number }>('POST', '/lab/faults', fault);
    return new ApiFault(client, id);
  }

  /** How many requests have met it. */
  async hits(): Promise<number> {
    if (this.#lifted !== null) return this.#lifted;
    const { faults } = await this.#client.call<{ faults: { id: number; hits: number }[] }>('GET', '/lab/faults');
    return faults.find((each) => each.id === this.#id)?.hits ?? 0;
  }

  /** Does nothing the second time. */
  async lift(): Promise<void> {
    if (this.#lifted !== null) return;
    this.#lifted = await this.hits();
    await this.#client.call('DELETE', `/lab/faults/${this.#id}`);
  }
}
