/** The Kubernetes objects that a cluster's own controllers and kubelets would have written for the lab's nodes and pods. */
import type { V1Namespace, V1Node, V1Pod, V1Service } from '@kubernetes/client-node';
import type { Protocol } from '../station/protocol.ts';
import type { LabNode } from '../topology/topology.ts';

/** A port that a pod listens on; `endPort` for a range, whose numbers all answer. */
export interface PodPort {
  name: string;
  protocol: Protocol;
  port: number;
  endPort?: number;
}

/** A pod of the lab: one network namespace on a node, and the echo responders in it. */
export interface PodRecord {
  namespace: string;
  name: string;
  /** Label `app`, which a Service selects by. */
  app: string;
  node: string;
  address: string;
  ports: PodPort[];
  ready: boolean;
  /** Unique in the lab; names the pod's device on its node. */
  index: number;
}

/** Where a later `lab` command finds a pod's index. */
export const indexAnnotation = 'lab.kuport.wlz.li/index';

export function nodeObject(node: LabNode, ready = true): V1Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: node.name,
      labels: { 'kubernetes.io/hostname': node.name, 'topology.kubernetes.io/zone': node.site },
    },
    spec: { podCIDR: node.podCidr, podCIDRs: [node.podCidr] },
    status: {
      addresses: [
        { type: 'InternalIP', address: node.meshAddress },
        { type: 'Hostname', address: node.name },
      ],
      conditions: [
        {
          type: 'Ready',
          status: ready ? 'True' : 'False',
          reason: ready ? 'KubeletReady' : 'KubeletNotReady',
          message: '',
        },
      ],
    },
  };
}

export function namespaceObject(name: string): V1Namespace {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { 'kubernetes.io/metadata.name': name } } };
}

export function podObject(pod: PodRecord): V1Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: pod.namespace,
      name: pod.name,
      labels: { app: pod.app },
      annotations: { [indexAnnotation]: String(pod.index) },
    },
    spec: {
      nodeName: pod.node,
      containers: [
        {
          name: 'echo',
          image: 'lab/echo',
          ports: pod.ports.map((port) => ({ name: port.name, protocol: port.protocol, containerPort: port.port })),
        },
      ],
    },
    status: {
      phase: 'Running',
      podIP: pod.address,
      podIPs: [{ ip: pod.address }],
      conditions: [{ type: 'Ready', status: pod.ready ? 'True' : 'False' }],
    },
  };
}

export function serviceObject(namespace: string, name: string, ports: readonly PodPort[]): V1Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: {
      type: 'ClusterIP',
      // The lab's kube-proxy table is its own; a headless Service needs no address from it.
      clusterIP: 'None',
      selector: { app: name },
      ports: ports.map((port) => ({
        name: port.name,
        protocol: port.protocol,
        port: port.port,
        targetPort: port.port,
      })),
    },
  };
}
