/** What Prometheus reads: what this agent has done, and what the kernel has counted for it. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Traffic } from './traffic.ts';

export class Metrics {
  readonly registry = new Registry();
  readonly #read: () => Promise<Traffic>;
  readonly #applies = new Histogram({
    name: 'kuport_apply_duration_seconds',
    help: 'Time from a plan to the kernel holding it, for passes that changed something.',
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
    registers: [this.registry],
  });
  readonly #drift = new Counter({
    name: 'kuport_drift_events_total',
    help: "Times that the kernel told of a change by others to what is kuport's, or to the host.",
    labelNames: ['subject'] as const,
    registers: [this.registry],
  });
  readonly #repairs = new Counter({
    name: 'kuport_drift_repairs_total',
    help: "What others had undone of kuport's and the agent has put back.",
    labelNames: ['subject'] as const,
    registers: [this.registry],
  });
  readonly #deletions = new Counter({
    name: 'kuport_conntrack_deletions_total',
    help: 'Conntrack entries deleted because a change had made them stale.',
    registers: [this.registry],
  });
  readonly #apiErrors = new Counter({
    name: 'kuport_api_errors_total',
    help: 'Lists, watches and writes that the API server did not answer well and that were tried again.',
    labelNames: ['what'] as const,
    registers: [this.registry],
  });

  /** @param read the kernel's counters, asked for at each scrape */
  constructor(read: () => Promise<Traffic>) {
    this.#read = read;
    const labelNames = ['portmap', 'interface', 'protocol', 'port'] as const;
    const traffic = {
      packets: new Gauge({
        name: 'kuport_mapping_request_packets_total',
        help: 'Request packets that arrived for a mapping.',
        labelNames,
        registers: [this.registry],
      }),
      bytes: new Gauge({
        name: 'kuport_mapping_request_bytes_total',
        help: 'Bytes of request packets that arrived for a mapping.',
        labelNames,
        registers: [this.registry],
      }),
      connections: new Gauge({
        name: 'kuport_mapping_connections_total',
        help: 'Flows that began at a mapping.',
        labelNames,
        registers: [this.registry],
      }),
    };
    const links = {
      errors: new Gauge({
        name: 'kuport_link_transmit_errors_total',
        help: 'Packets that a link could not send.',
        labelNames: ['device'] as const,
        registers: [this.registry],
      }),
      collisions: new Gauge({
        name: 'kuport_link_collisions_total',
        help: 'Packets routed back into the link they came out of: the loop guard is missing.',
        labelNames: ['device'] as const,
        registers: [this.registry],
      }),
    };
    this.#fill = ({ requests, connections, links: devices }) => {
      for (const gauge of [...Object.values(traffic), ...Object.values(links)]) gauge.reset();
      for (const { portMap, interface: device, protocol, port, packets, bytes } of requests) {
        const labels = { portmap: portMap, interface: device, protocol, port };
        traffic.packets.set(labels, packets);
        traffic.bytes.set(labels, bytes);
      }
      for (const { portMap, interface: device, protocol, port, packets } of connections) {
        traffic.connections.set({ portmap: portMap, interface: device, protocol, port }, packets);
      }
      for (const { device, transmitErrors, collisions } of devices) {
        links.errors.set({ device }, transmitErrors);
        links.collisions.set({ device }, collisions);
      }
    };
  }

  readonly #fill: (traffic: Traffic) => void;

  applied(applied: { duration: number; deleted: readonly unknown[]; repairs: readonly { subject: string }[] }): void {
    const { duration, deleted, repairs } = applied;
    for (const { subject } of repairs) this.#repairs.inc({ subject });
    this.#applies.observe(duration / 1000);
    this.#deletions.inc(deleted.length);
  }

  drift(subject: string): void {
    this.#drift.inc({ subject });
  }

  apiError(what: string): void {
    this.#apiErrors.inc({ what });
  }

  /** In Prometheus' text format. @throws CommandError when the kernel cannot be read */
  async text(): Promise<string> {
    this.#fill(await this.#read());
    return this.registry.metrics();
  }
}
