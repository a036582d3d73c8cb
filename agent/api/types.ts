/** kuport.wlz.li/v1alpha1 as TypeScript: the same fields as crds/, where their meaning is written down. */

export const apiGroup = 'kuport.wlz.li';
export const apiVersion = `${apiGroup}/v1alpha1`;

export type Protocol = 'TCP' | 'UDP';
export type ServingMode = 'Single' | 'Multi';
export type ReturnPathMode = 'Vxlan' | 'None';

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  observedGeneration?: number;
  /** RFC 3339; changes when `status` does. */
  lastTransitionTime?: string;
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'; values?: string[] }[];
}

export interface PortMapClassSpec {
  nodes: Record<string, { interfaces: string[] }>;
  servingMode?: ServingMode;
  ports?: { min?: number; max?: number; reserved?: number[] };
  namespaceSelector?: LabelSelector;
  returnPath: {
    mode: ReturnPathMode;
    vxlan?: { vni?: number; port?: number; subnet?: string; underlayInterface?: string };
  };
}

export interface LinkStatus {
  /** `a/b`, the two nodes sorted. */
  key: string;
  peers: string[];
  slot: number;
  subnet: string;
  /** RFC 3339: since when no mapping has needed the link. */
  unusedSince?: string;
}

/** A port the node itself listens on. */
export interface TakenPort {
  /** Null or absent: on every interface. */
  interface?: string;
  protocol: Protocol;
  port: number;
  role: string;
}

export interface PortMapClassNodeStatus {
  name: string;
  ready: boolean;
  message: string;
  /** Address that carries this node's links. */
  underlayAddress?: string;
  /** Bytes. */
  underlayMTU?: number;
  /** Bytes: the largest link of this class on the node may have. */
  linkMTU?: number;
  /** Interface -> its address. */
  addresses?: Record<string, string>;
  takenPorts?: TakenPort[];
}

export interface PortMapClass {
  apiVersion: string;
  kind: 'PortMapClass';
  metadata: ObjectMeta;
  spec: PortMapClassSpec;
  status?: { links?: LinkStatus[]; nodes?: PortMapClassNodeStatus[]; conditions?: Condition[] };
}

export interface PortMapSpec {
  className: string;
  protocol: Protocol;
  port: number;
  endPort?: number;
  interfaces?: string[];
  idleTimeout?: string;
  serviceRef: { name: string; port: string };
}

export interface EndpointRef {
  node: string;
  pod: string;
  address: string;
}

export interface PublishedAddress {
  node: string;
  interface: string;
  address: string;
}

export interface PortMapStatus {
  endpoint?: EndpointRef;
  published?: PublishedAddress[];
  addresses?: string;
  conditions?: Condition[];
}

export interface PortMap {
  apiVersion: string;
  kind: 'PortMap';
  metadata: ObjectMeta & { namespace: string };
  spec: PortMapSpec;
  status?: PortMapStatus;
}
