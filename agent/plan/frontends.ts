/**
 * Ports on nodes that Cilium's kube-proxy replacement answers for Services. Its eBPF takes such a packet before
 * netfilter sees it: a mapping's rule would count nothing (measured for the NodePort range on Cilium 1.19).
 */
import type { V1Service } from '@kubernetes/client-node';
import type { PortRange } from './admission.ts';
import { replacesKubeProxy, serviceNodePorts } from './cni.ts';
import { byName, type ClusterSnapshot } from './snapshot.ts';

export interface Frontend {
  port: number;
  /** What answers there, for a message. */
  role: string;
}

interface ServiceFrontend extends Frontend {
  address: string;
}

function addressesOf({ spec, status }: V1Service): string[] {
  const balanced = (status?.loadBalancer?.ingress ?? []).flatMap((each) => each.ip ?? []);
  return [...(spec?.externalIPs ?? []), ...balanced];
}

export class Frontends {
  readonly #nodePorts: { first: number; last: number } | null;
  /** By `protocol/port`. */
  readonly #services = new Map<string, ServiceFrontend[]>();

  constructor({ cniConfig, services }: ClusterSnapshot) {
    this.#nodePorts = replacesKubeProxy(cniConfig) ? serviceNodePorts(cniConfig) : null;
    if (this.#nodePorts === null) return;
    const name = ({ metadata }: V1Service): string => `${metadata?.namespace}/${metadata?.name}`;
    for (const service of [...services].sort((a, b) => byName(name(a), name(b)))) {
      for (const { port, protocol = 'TCP' } of service.spec?.ports ?? []) {
        const key = `${protocol}/${port}`;
        const role = `Service ${name(service)}, which Cilium answers in kube-proxy's place`;
        const found = addressesOf(service).map((address) => ({ address, port, role }));
        this.#services.set(key, [...(this.#services.get(key) ?? []), ...found]);
      }
    }
  }

  /**
   * The first port of a range that is answered on a node before kuport's rules, or undefined.
   * @param addresses those of the node on which the range would be dialled
   */
  find(protocol: string, { port, endPort }: PortRange, addresses: readonly string[]): Frontend | undefined {
    if (this.#nodePorts === null) return undefined;
    const { first, last } = this.#nodePorts;
    if (port <= last && endPort >= first) {
      const role = `NodePorts ${first}-${last}, which Cilium answers in kube-proxy's place`;
      return { port: Math.max(port, first), role };
    }
    // Most clusters have a few such Services, ranges many ports.
    if (this.#services.size === 0) return undefined;
    for (let each = port; each <= endPort; each++) {
      const found = this.#services.get(`${protocol}/${each}`)?.find(({ address }) => addresses.includes(address));
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
