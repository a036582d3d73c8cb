/** Small clusters for tests of the plan: every part has a default, a test names only what it is about. */
import type { V1EndpointSlice, V1Node } from '@kubernetes/client-node';
import type { PortMap, PortMapClass, PortMapClassSpec, PortMapSpec } from '../../api/types.ts';
import type { HostFacts, NodePlan } from '../node-plan.ts';
import { plan } from '../plan.ts';
import type { ClusterSnapshot } from '../snapshot.ts';

const meshAddresses: Record<string, string> = {
  'edge-a': '100.64.93.143',
  'edge-d': '100.64.93.146',
  'worker-b': '100.64.93.144',
  'worker-c': '100.64.93.145',
};

export function node(name: string, ready = true): V1Node {
  return {
    metadata: { name },
    status: {
      addresses: [{ type: 'InternalIP', address: meshAddresses[name] ?? '100.64.93.200' }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

export function portMapClass(
  spec: Partial<PortMapClassSpec> = {},
  rest: Partial<PortMapClass> & { name?: string; created?: string } = {},
): PortMapClass {
  const { name = 'public', created = '2026-01-01T00:00:00Z', ...others } = rest;
  return {
    apiVersion: 'kuport.wlz.li/v1alpha1',
    kind: 'PortMapClass',
    metadata: { name, generation: 1, creationTimestamp: created },
    spec: { nodes: { 'edge-a': { interfaces: ['enp1s0'] } }, returnPath: { mode: 'Vxlan' }, ...spec },
    ...others,
  };
}

export function portMap(
  spec: Partial<PortMapSpec> = {},
  rest: Partial<PortMap> & { name?: string; namespace?: string; created?: string } = {},
): PortMap {
  const { name = 'gameserver', namespace = 'games', created = '2026-01-02T00:00:00Z', ...others } = rest;
  return {
    apiVersion: 'kuport.wlz.li/v1alpha1',
    kind: 'PortMap',
    metadata: { name, namespace, generation: 1, creationTimestamp: created },
    spec: {
      className: 'public',
      protocol: 'UDP',
      port: 3000,
      serviceRef: { name: 'gameserver', port: 'game' },
      ...spec,
    },
    ...others,
  };
}

export interface EndpointRequest {
  node: string;
  pod?: string;
  address?: string;
  ready?: boolean | null;
}

/** One slice of Service games/gameserver whose port `game` is UDP. */
export function slice(endpoints: readonly EndpointRequest[], port = 3000, name = 'gameserver-1'): V1EndpointSlice {
  return {
    metadata: { namespace: 'games', name, labels: { 'kubernetes.io/service-name': 'gameserver' } },
    addressType: 'IPv4',
    ports: [{ name: 'game', protocol: 'UDP', port }],
    endpoints: endpoints.map(({ node: nodeName, pod = 'gameserver-0', address = '10.244.18.107', ready = true }) => ({
      addresses: [address],
      nodeName,
      targetRef: { kind: 'Pod', name: pod },
      conditions: ready === null ? {} : { ready },
    })),
  };
}

export function snapshot(parts: Partial<ClusterSnapshot> = {}): ClusterSnapshot {
  return {
    nodes: ['edge-a', 'edge-d', 'worker-b', 'worker-c'].map((name) => node(name)),
    namespaces: [{ metadata: { name: 'games', labels: { team: 'games' } } }],
    classes: [portMapClass()],
    portMaps: [portMap()],
    services: [],
    endpointSlices: [slice([{ node: 'worker-b' }])],
    ...parts,
  };
}

/** A host with one public interface and the mesh. */
export function host(name: string, facts: Partial<HostFacts> = {}): HostFacts {
  return {
    interfaces: [
      { name: 'enp1s0', mtu: 1500, addresses: ['203.0.113.9'] },
      { name: 'wt0', mtu: 1420, addresses: [meshAddresses[name] ?? '100.64.93.200'] },
    ],
    linkMarks: {},
    listeners: [],
    ...facts,
  };
}

/** A recorded link between edge-a and a worker. */
export function link(key: string, slot: number): NonNullable<NonNullable<PortMapClass['status']>['links']>[number] {
  return { key, peers: key.split('/'), slot, subnet: `169.254.77.${2 * slot}/31` };
}

export const now = Date.parse('2026-02-01T00:00:00Z');

/** What a node of the cluster with these parts must hold and say. */
export function planOn(name: string, parts: Partial<ClusterSnapshot> = {}): NodePlan {
  return plan(snapshot(parts), name, host(name), now);
}

/** What is written to the mappings, by whichever node writes it. */
export function statusesOf(parts: Partial<ClusterSnapshot> = {}): NodePlan['portMapStatuses'] {
  return snapshot(parts).nodes.flatMap((each) => planOn(each.metadata?.name ?? '', parts).portMapStatuses);
}
