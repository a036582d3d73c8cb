/** The kinds an agent watches, and how much of each it keeps. */
import type { V1ConfigMap, V1EndpointSlice, V1Namespace, V1Node, V1Service } from '@kubernetes/client-node';
import { apiVersion, type PortMap, type PortMapClass } from '../api/types.ts';
import { cniConfigKeys } from '../plan/cni.ts';

/** What every object has, of client-node's types and of ours. */
export interface StoredObject {
  metadata?: {
    name?: string;
    namespace?: string;
    uid?: string;
    generation?: number;
    resourceVersion?: string;
    managedFields?: unknown;
    annotations?: unknown;
  };
}

export interface Resource<Item extends StoredObject> {
  kind: string;
  path: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** A cluster may do without it, or the agent may not be allowed to read it: nobody waits for its first list. */
  isOptional?: boolean;
  /** The part of an object that is kept: what nobody here reads would only cost memory and passes. */
  keep(object: Item): Item;
}

/** All of it, but for the bookkeeping of who set which field and what `kubectl apply` last saw. */
function withoutBookkeeping<Item extends StoredObject>(object: Item): Item {
  const { managedFields: _, annotations: __, ...metadata } = object.metadata ?? {};
  return { ...object, metadata };
}

function identity({ metadata }: StoredObject): StoredObject['metadata'] {
  const { name, namespace, uid, resourceVersion } = metadata ?? {};
  return { name, namespace, uid, resourceVersion } as StoredObject['metadata'];
}

export interface Kinds {
  nodes: V1Node;
  namespaces: V1Namespace;
  services: V1Service;
  endpointSlices: V1EndpointSlice;
  portMaps: PortMap;
  classes: PortMapClass;
  cniConfigs: V1ConfigMap;
}

export const resources: { [Name in keyof Kinds]: Resource<Kinds[Name]> } = {
  nodes: {
    kind: 'Node',
    path: '/api/v1/nodes',
    // A node's heartbeat changes times only: without them it is no change at all.
    keep: (node) => ({
      metadata: { ...identity(node), labels: node.metadata?.labels } as V1Node['metadata'],
      status: {
        addresses: node.status?.addresses,
        conditions: node.status?.conditions
          ?.filter((each) => each.type === 'Ready')
          .map(({ type, status }) => ({ type, status })),
      },
    }),
  },
  namespaces: {
    kind: 'Namespace',
    path: '/api/v1/namespaces',
    keep: (namespace) => ({
      metadata: { ...identity(namespace), labels: namespace.metadata?.labels } as V1Namespace['metadata'],
    }),
  },
  services: {
    kind: 'Service',
    path: '/api/v1/services',
    keep: (service) => ({
      metadata: identity(service) as V1Service['metadata'],
      spec: { type: service.spec?.type, ports: service.spec?.ports, externalIPs: service.spec?.externalIPs },
      status: { loadBalancer: service.status?.loadBalancer },
    }),
  },
  endpointSlices: {
    kind: 'EndpointSlice',
    path: '/apis/discovery.k8s.io/v1/endpointslices',
    labelSelector: 'kubernetes.io/service-name',
    keep: withoutBookkeeping,
  },
  // Items of a list may come without kind and version, which a PUT must have.
  portMaps: {
    kind: 'PortMap',
    path: `/apis/${apiVersion}/portmaps`,
    keep: (portMap) => ({ ...withoutBookkeeping(portMap), apiVersion, kind: 'PortMap' }),
  },
  classes: {
    kind: 'PortMapClass',
    path: `/apis/${apiVersion}/portmapclasses`,
    keep: (portMapClass) => ({ ...withoutBookkeeping(portMapClass), apiVersion, kind: 'PortMapClass' }),
  },
  // The one ConfigMap in which Cilium says how it treats the host's stack.
  cniConfigs: {
    kind: 'ConfigMap',
    path: '/api/v1/namespaces/kube-system/configmaps',
    fieldSelector: 'metadata.name=cilium-config',
    isOptional: true,
    keep: (configMap) => ({
      metadata: identity(configMap) as V1ConfigMap['metadata'],
      data: Object.fromEntries(
        cniConfigKeys.flatMap((key) => {
          const value = configMap.data?.[key];
          return value === undefined ? [] : [[key, value]];
        }),
      ),
    }),
  },
};

/** `namespace/name`, or the name alone. */
export function objectKey({ metadata }: StoredObject): string {
  return metadata?.namespace === undefined ? (metadata?.name ?? '') : `${metadata.namespace}/${metadata.name}`;
}
