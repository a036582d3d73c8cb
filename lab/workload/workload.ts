/**
 * Pods, and the Services and EndpointSlices that follow them: plays kubelet, scheduler and the EndpointSlice controller
 * for the few pods a scenario needs.
 */
import type { Backend } from '../backends/backend.ts';
import type { Host } from '../backends/host.ts';
import type { ClusterClient } from '../cluster/client.ts';
import type { CniNode } from '../cni/node.ts';
import { attachPod, type CniSwitches, detachPod } from '../cni/pod.ts';
import { applyHostSetup } from '../network/host-setup.ts';
import type { EchoSighting } from '../station/protocol.ts';
import { formatAddress, parseSubnet } from '../topology/ipv4.ts';
import {
  endpointSliceObject,
  namespaceObject,
  type PodPort,
  type PodRecord,
  podObject,
  serviceObject,
} from './objects.ts';

export interface PodRequest {
  namespace: string;
  name: string;
  node: string;
  ports: readonly PodPort[];
  /** Label by which a Service of that name selects the pod. Default: the pod's name. */
  app?: string;
  /** Default: the next free address of the node's range. */
  address?: string;
  /** Milliseconds each answer is delayed. */
  delayMs?: number;
  /** Receives but answers nothing. */
  silent?: boolean;
}

/** A running pod. */
export interface Pod {
  readonly record: PodRecord;
  readonly host: Host;
  /** What arrived at its ports since the last call. */
  sightings(): Promise<EchoSighting[]>;
  /** Number of the responder on a port, for pushes. */
  serverOn(port: PodPort): number;
}

interface RunningPod extends Pod {
  index: number;
  servers: Map<string, number>;
}

interface ServiceRecord {
  namespace: string;
  name: string;
  ports: readonly PodPort[];
}

/** First host number that pods get in their node's range: .1 is the router's, the rest below is left to tests. */
const firstPodNumber = 10;

export class Workload {
  readonly #backend: Backend;
  readonly #cluster: ClusterClient;
  readonly #nodes: ReadonlyMap<string, CniNode>;
  readonly #switches: CniSwitches;
  readonly #pods = new Map<string, RunningPod>();
  readonly #services = new Map<string, ServiceRecord>();
  #nextIndex = 1;

  constructor(backend: Backend, cluster: ClusterClient, nodes: ReadonlyMap<string, CniNode>, switches: CniSwitches) {
    this.#backend = backend;
    this.#cluster = cluster;
    this.#nodes = nodes;
    this.#switches = switches;
  }

  async createNamespace(name: string): Promise<void> {
    await this.#cluster.apply(namespaceObject(name));
  }

  /** Starts a pod: namespace, device, echo responders, Pod object, then the endpoints of the Services that select it. */
  async startPod(request: PodRequest): Promise<Pod> {
    const node = this.#node(request.node);
    const index = this.#nextIndex++;
    const record: PodRecord = {
      namespace: request.namespace,
      name: request.name,
      app: request.app ?? request.name,
      node: request.node,
      address: request.address ?? this.#freeAddress(node),
      ports: [...request.ports],
      ready: true,
    };
    const host = await this.#backend.createPod(request.node, request.name);
    const setup = attachPod(
      node,
      { name: request.name, address: record.address, index, netns: host.name },
      this.#switches,
    );
    await applyHostSetup(this.#backend.host(request.node), setup.onNode);
    await applyHostSetup(host, setup.inPod);
    const servers = new Map<string, number>();
    for (const port of request.ports) {
      const { server } = await host.station.request('echoStart', {
        protocol: port.protocol,
        port: port.port,
        ...(port.endPort === undefined ? {} : { endPort: port.endPort }),
        pod: request.name,
        node: request.node,
        ...(request.delayMs === undefined ? {} : { delayMs: request.delayMs }),
        ...(request.silent === undefined ? {} : { silent: request.silent }),
      });
      servers.set(portKey(port), server);
    }
    const pod: RunningPod = {
      record,
      host,
      index,
      servers,
      sightings: async () => {
        const lists = await Promise.all(
          [...servers.values()].map((server) => host.station.request('echoSightings', { server })),
        );
        return lists.flatMap((list) => list.sightings);
      },
      serverOn: (port) => {
        const server = servers.get(portKey(port));
        if (server === undefined) throw new Error(`pod ${request.name} does not listen on ${portKey(port)}`);
        return server;
      },
    };
    this.#pods.set(podKey(record), pod);
    await this.#cluster.apply(podObject(record));
    await this.#publish(record);
    return pod;
  }

  async stopPod(pod: Pod): Promise<void> {
    const { record } = pod;
    const running = this.#pods.get(podKey(record));
    if (running === undefined) return;
    this.#pods.delete(podKey(record));
    await this.#publish(record);
    await this.#cluster.delete('v1', 'Pod', record.name, record.namespace);
    const node = this.#node(record.node);
    const setup = detachPod(
      node,
      { name: record.name, address: record.address, index: running.index, netns: running.host.name },
      this.#switches,
    );
    await this.#backend.removePod(record.name);
    await applyHostSetup(this.#backend.host(record.node), setup);
  }

  /** A Service whose endpoints are the ready pods with label `app` = its name, now and from now on. */
  async createService(namespace: string, name: string, ports: readonly PodPort[]): Promise<void> {
    const service = { namespace, name, ports };
    this.#services.set(`${namespace}/${name}`, service);
    await this.#cluster.apply(serviceObject(namespace, name, ports));
    await this.#writeSlice(service);
  }

  async deleteService(namespace: string, name: string): Promise<void> {
    this.#services.delete(`${namespace}/${name}`);
    await this.#cluster.delete('discovery.k8s.io/v1', 'EndpointSlice', `${name}-lab`, namespace);
    await this.#cluster.delete('v1', 'Service', name, namespace);
  }

  /** Readiness as a probe would report it; an unready pod goes on running. */
  async setReady(pod: Pod, ready: boolean): Promise<void> {
    pod.record.ready = ready;
    await this.#cluster.apply(podObject(pod.record));
    await this.#publish(pod.record);
  }

  async #publish({ namespace, app }: PodRecord): Promise<void> {
    const service = this.#services.get(`${namespace}/${app}`);
    if (service !== undefined) await this.#writeSlice(service);
  }

  async #writeSlice({ namespace, name, ports }: ServiceRecord): Promise<void> {
    const pods = [...this.#pods.values()].map((pod) => pod.record);
    const selected = pods.filter((pod) => pod.namespace === namespace && pod.app === name);
    await this.#cluster.apply(endpointSliceObject(namespace, name, ports, selected));
  }

  #node(name: string): CniNode {
    const node = this.#nodes.get(name);
    if (node === undefined)
      throw new Error(`no node is named "${name}": there are ${[...this.#nodes.keys()].join(', ')}`);
    return node;
  }

  #freeAddress(node: CniNode): string {
    const taken = new Set([...this.#pods.values()].map((pod) => pod.record.address));
    const { base } = parseSubnet(node.podCidr);
    for (let number = firstPodNumber; number < 250; number++) {
      const address = formatAddress(base + number);
      if (!taken.has(address)) return address;
    }
    throw new Error(`${node.name} has no free pod address left in ${node.podCidr}`);
  }
}

function podKey({ namespace, name }: PodRecord): string {
  return `${namespace}/${name}`;
}

function portKey({ protocol, port }: PodPort): string {
  return `${port}/${protocol}`;
}
