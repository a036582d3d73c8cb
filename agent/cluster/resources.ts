/** The kinds the agent watches, and where they stand in the API. */
import type { V1EndpointSlice, V1Namespace, V1Node, V1Service } from '@kubernetes/client-node';
import { apiGroup, type PortMap, type PortMapClass } from '../api/types.ts';

export interface Watched {
  nodes: V1Node;
  namespaces: V1Namespace;
  services: V1Service;
  endpointSlices: V1EndpointSlice;
  classes: PortMapClass;
  portMaps: PortMap;
}

export type ResourceName = keyof Watched;

/** List path over all namespaces. */
export const listPaths: Record<ResourceName, string> = {
  nodes: '/api/v1/nodes',
  namespaces: '/api/v1/namespaces',
  services: '/api/v1/services',
  endpointSlices: '/apis/discovery.k8s.io/v1/endpointslices',
  classes: `/apis/${apiGroup}/v1alpha1/portmapclasses`,
  portMaps: `/apis/${apiGroup}/v1alpha1/portmaps`,
};

export function classPath(name: string): string {
  return `${listPaths.classes}/${name}`;
}

export function portMapPath(namespace: string, name: string): string {
  return `/apis/${apiGroup}/v1alpha1/namespaces/${namespace}/portmaps/${name}`;
}
