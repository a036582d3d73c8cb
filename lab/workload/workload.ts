/**
 * Pods, and the Services and EndpointSlices that follow them: plays kubelet, scheduler and the EndpointSlice controller
 * for the few pods a scenario needs.
 */
import type { V1EndpointSlice, V1Pod, V1Service } from '@kubernetes/client-node';
import type { Backend } from '../backends/backend.ts';
import type { Host } from '../backends/host.ts';
import type { ClusterClient } from '../cluster/client.ts';
import type { CniNode } from '../cni/cni-node.ts';
import { attachPod, detachPod } from '../cni/pod.ts';
import type { CniSwitches } from '../cni/switches.ts';
import { applyHostSetup } from '../network/host-setup.ts';
import type { EchoSighting } from '../station/protocol.ts';
import { formatAddress, parseSubnet } from '../topology/ipv4.ts';
import { endpointSlices } from './endpoints.ts';
import { indexAnnotation, namespaceObject, type PodPort, type PodRecord, podObject, serviceObject } from './objects.ts';

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
  /** Deviations of the CNI for this pod, e.g. a route of its own. */
  cni?: Partial<CniSwitches>;
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

/** First host number that pods get in their node's range: .1 is the router's, the rest below is left to tests. */
const firstPodNumber = 10;

export class Workload {
  readonly #backend: Backend;
  readonly #cluster: ClusterClient;
  readonly #nodes: ReadonlyMap<string, CniNode>;
  readonly #stopped = new WeakSet<Pod>();
  /** The node as each pod's CNI plugin saw it: a pod may deviate. */
  readonly #podNodes = new Map<string, CniNode>();
  /** Addresses and indexes in use, read from the API once: another driver may have started pods before. */
  #taken: Promise<{ addresses: Set<string>; nextIndex: number }> | null = null;

  constructor(backend: Backend, cluster: ClusterClient, nodes: ReadonlyMap<string, CniNode>) {
    this.#backend = backend;
    this.#cluster = cluster;
    this.#nodes = nodes;
  }

  async createNamespace(name: string): Promise<void> {
    await this.#cluster.apply(namespaceObject(name));
  }

  /** Starts a pod: namespace, device, echo responders, Pod object, then the endpoints of the Services that select it. */
  async startPod(request: PodRequest): Promise<Pod> {
    const node = this.#node(request.node);
    const taken = await this.#read();
    const record: PodRecord = {
      namespace: request.namespace,
      name: request.name,
      app: request.app ?? request.name,
      node: request.node,
      address: request.address ?? freeAddress(node, taken.addresses),
      ports: [...request.ports],
      ready: true,
      index: taken.nextIndex++,
    };
    taken.addresses.add(record.address);
    const { index } = record;
    const host = await this.#backend.createPod(request.node, request.name);
    const cni: CniNode = { ...node, switches: { ...node.switches, ...request.cni } };
    this.#podNodes.set(record.name, cni);
    const setup = attachPod(cni, { address: record.address, index, netns: host.name });
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
    const pod: Pod = {
      record,
      host,
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
    await this.#cluster.apply(podObject(record));
    await this.#publish(record.namespace);
    return pod;
  }

  /** A pod that has been stopped before stays stopped. */
  async stopPod(pod: Pod): Promise<void> {
    const { record } = pod;
    if (this.#stopped.has(pod)) return;
    this.#stopped.add(pod);
    await this.#cluster.delete('v1', 'Pod', record.name, record.namespace);
    await this.#publish(record.namespace);
    const setup = detachPod(this.#podNodes.get(record.name) ?? this.#node(record.node), {
      address: record.address,
      index: record.index,
      netns: pod.host.name,
    });
    await this.#backend.removePod(record.name);
    await applyHostSetup(this.#backend.host(record.node), setup);
    (await this.#read()).addresses.delete(record.address);
  }

  /** A Service whose endpoints are the ready pods with label `app` = its name, now and from now on. */
  async createService(namespace: string, name: string, ports: readonly PodPort[]): Promise<void> {
    await this.applyService(serviceObject(namespace, name, ports));
  }

  async applyService(service: V1Service): Promise<void> {
    await this.#cluster.apply(service);
    await this.#publish(service.metadata?.namespace ?? 'default');
  }

  async deleteService(namespace: string, name: string): Promise<void> {
    await this.#cluster.delete('v1', 'Service', name, namespace);
    await this.#publish(namespace);
  }

  /**
   * Runs a Pod as a manifest describes it: node, container ports and labels count, the image does not.
   * @throws Error naming the field that is missing
   */
  async applyPod(manifest: V1Pod): Promise<void> {
    const { metadata, spec } = manifest;
    if (spec?.nodeName === undefined)
      throw new Error('spec.nodeName is missing: the lab has no scheduler, so say which node');
    const { name = '', namespace = 'default', labels = {} } = metadata ?? {};
    const ports = spec.containers.flatMap((container) => container.ports ?? []);
    if (ports.length === 0) throw new Error('no container port is named: the lab would have nothing to listen on');
    const pod = await this.startPod({
      namespace,
      name,
      node: spec.nodeName,
      ...(labels.app === undefined ? {} : { app: labels.app }),
      ports: ports.map((port) => ({
        name: port.name ?? '',
        protocol: port.protocol === 'UDP' ? 'UDP' : 'TCP',
        port: port.containerPort,
      })),
    });
    await this.#cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace, name: pod.record.name, labels },
    });
    await this.#publish(namespace);
  }

  /** Readiness as a probe would report it; an unready pod goes on running. */
  async setReady(pod: Pod, ready: boolean): Promise<void> {
    pod.record.ready = ready;
    await this.#cluster.apply(podObject(pod.record));
    await this.#publish(pod.record.namespace);
  }

  /** Brings the EndpointSlices of a namespace in line with its Services and pods. */
  async #publish(namespace: string): Promise<void> {
    const [{ items: services }, { items: pods }, { items: present }] = await Promise.all([
      this.#cluster.list<V1Service>('v1', 'Service', { namespace }),
      this.#cluster.list<V1Pod>('v1', 'Pod', { namespace }),
      this.#cluster.list<V1EndpointSlice>('discovery.k8s.io/v1', 'EndpointSlice', { namespace }),
    ]);
    const wanted = services
      .filter((service) => service.spec?.selector !== undefined)
      .flatMap((service) => endpointSlices(service, pods));
    const names = new Set(wanted.map((slice) => slice.metadata?.name));
    await Promise.all([
      ...wanted.map((slice) => this.#cluster.apply(slice)),
      ...present
        .filter((slice) => !names.has(slice.metadata?.name))
        .map((slice) =>
          this.#cluster.delete('discovery.k8s.io/v1', 'EndpointSlice', slice.metadata?.name ?? '', namespace),
        ),
    ]);
  }

  #read(): Promise<{ addresses: Set<string>; nextIndex: number }> {
    this.#taken ??= this.#cluster.list<V1Pod>('v1', 'Pod').then(({ items: pods }) => ({
      addresses: new Set(pods.map((pod) => pod.status?.podIP ?? '')),
      nextIndex: 1 + Math.max(0, ...pods.map((pod) => Number(pod.metadata?.annotations?.[indexAnnotation] ?? 0))),
    }));
    return this.#taken;
  }

  #node(name: string): CniNode {
    const node = this.#nodes.get(name);
    if (node === undefined)
      throw new Error(`no node is named "${name}": there are ${[...this.#nodes.keys()].join(', ')}`);
    return node;
  }
}

function freeAddress(node: CniNode, taken: ReadonlySet<string>): string {
  const { base } = parseSubnet(node.podCidr);
  for (let number = firstPodNumber; number < 250; number++) {
    const address = formatAddress(base + number);
    if (!taken.has(address)) return address;
  }
  throw new Error(`${node.name} has no free pod address left in ${node.podCidr}`);
}

function portKey({ protocol, port }: PodPort): string {
  return `${port}/${protocol}`;
}
