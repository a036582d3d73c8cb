/**
 * kuport's two kinds as a user writes them. The lab has its own view of them, taken from the API document and not from
 * the agent's code: it must be able to disagree with it.
 */
import type { Protocol } from '../station/protocol.ts';

export const kuportApiVersion = 'kuport.wlz.li/v1alpha1';

export interface ClassRequest {
  name: string;
  /** Accepting node -> interfaces. */
  nodes: Record<string, { interfaces: string[] }>;
  servingMode?: 'Single' | 'Multi';
  returnPath: 'Vxlan' | 'None';
  vxlan?: { vni?: number; port?: number; subnet?: string; underlayInterface?: string };
  ports?: { min: number; max: number; reserved?: number[] };
}

export interface PortMapRequest {
  namespace: string;
  name: string;
  className: string;
  protocol: Protocol;
  port: number;
  endPort?: number;
  interfaces?: string[];
  idleTimeout?: string;
  serviceRef: { name: string; port: string };
}

export interface StatusCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration?: number;
}

export interface PortMapObject {
  apiVersion: string;
  kind: 'PortMap';
  metadata: { namespace: string; name: string; generation?: number; resourceVersion?: string };
  spec: Record<string, unknown>;
  status?: {
    endpoint?: { node: string; pod: string; address: string };
    published?: { node: string; interface: string; address: string }[];
    addresses?: string;
    conditions?: StatusCondition[];
  };
}

export function classObject(request: ClassRequest): Record<string, unknown> {
  return {
    apiVersion: kuportApiVersion,
    kind: 'PortMapClass',
    metadata: { name: request.name },
    spec: {
      nodes: request.nodes,
      servingMode: request.servingMode ?? 'Single',
      ports: request.ports ?? { min: 1024, max: 65535 },
      returnPath: {
        mode: request.returnPath,
        ...(request.vxlan === undefined ? {} : { vxlan: request.vxlan }),
      },
    },
  };
}

export function portMapObject(request: PortMapRequest): Record<string, unknown> {
  const { namespace, name, ...spec } = request;
  return { apiVersion: kuportApiVersion, kind: 'PortMap', metadata: { namespace, name }, spec };
}

export function condition(object: PortMapObject, type: string): StatusCondition | undefined {
  return object.status?.conditions?.find((each) => each.type === type);
}
