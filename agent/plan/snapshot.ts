/** What every agent sees alike: the watched objects, as they are in its caches at one moment. */
import type { V1EndpointSlice, V1Namespace, V1Node, V1Service } from '@kubernetes/client-node';
import type { PortMap, PortMapClass } from '../api/types.ts';

export interface ClusterSnapshot {
  nodes: readonly V1Node[];
  namespaces: readonly V1Namespace[];
  classes: readonly PortMapClass[];
  portMaps: readonly PortMap[];
  services: readonly V1Service[];
  endpointSlices: readonly V1EndpointSlice[];
}

/** Code-unit order, the same on every machine whatever its locale. */
export function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function isNodeReady(node: V1Node): boolean {
  return node.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;
}

export function internalAddress(node: V1Node): string | undefined {
  return node.status?.addresses?.find((each) => each.type === 'InternalIP' && each.address.includes('.'))?.address;
}
