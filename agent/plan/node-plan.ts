/**
 * What one node must hold and say: the output of plan/, the input of datapath/ and of the status writer.
 * Everything here is plain data; two equal plans are deep-equal, lists are sorted.
 */
import type { Condition, PortMapClassNodeStatus, PublishedAddress } from '../api/types.ts';

export type Protocol = 'TCP' | 'UDP';

/** One vxlan device of this node: its end of the link to a peer, for one class. */
export interface PlannedLink {
  /** `kup-` and the first 8 hex digits of sha256(class + "\n" + peer). */
  device: string;
  className: string;
  peer: string;
  vni: number;
  /** UDP port of the outer packets, both ends. */
  port: number;
  /** Outer addresses: this node's and the peer's. */
  underlayAddress: string;
  peerUnderlayAddress: string;
  /** Inner addresses: the two ends of the /31. */
  address: string;
  peerAddress: string;
  /** Bytes. */
  mtu: number;
}

/** How replies of flows that arrived over a link go back over it: exists on the pod's node only. */
export interface ReturnPath {
  device: string;
  /** Packet and conntrack mark, 0x6b70 in the high half. */
  mark: number;
  /** Routing table number. */
  table: number;
  /** This node's end of the /31: only what was sent to it arrived for kuport. */
  address: string;
  /** The peer's end of the /31: gateway of the table's default route. */
  peerAddress: string;
  /** Outer destination that must be looked up in the main table in spite of the mark (the loop guard). */
  peerUnderlayAddress: string;
}

/** One translation: a port (or range) arriving on one interface, and where it goes. */
export interface Delivery {
  /** `namespace/name` of the PortMap. */
  portMap: string;
  /** Device the packet arrives on: one of the class's interfaces, or a kup-* link. */
  interface: string;
  protocol: Protocol;
  port: number;
  /** Last port of the range; equal to `port` for a single one. */
  endPort: number;
  /** The pod's address, or the far end of the link to the pod's node. */
  targetAddress: string;
  /** Port to write; for a range equal to `port` (the packet keeps its own). */
  targetPort: number;
  /** This node's addresses on that interface that a client can dial: the keys of the inbound exemption. */
  dialledAddresses: string[];
  /** True where the target is a pod of this node: only there can something masquerade the client away. */
  targetIsPod: boolean;
  /** How long conntrack remembers an idle flow of this mapping; null: as long as the host's defaults say. */
  idleSeconds: number | null;
}

/** A slot of a class this node wants recorded in the class status before anything that depends on it is emitted. */
export interface SlotClaim {
  className: string;
  /** `a/b`, the two nodes sorted. */
  key: string;
  peers: [string, string];
  /** VNIs that links of other classes hold on the same UDP port: no slot that leads to one of them is free. */
  foreignVnis: number[];
}

/** A recorded link this node keeps the books of, and what has become of it. */
export interface LinkChange {
  className: string;
  key: string;
  /** unused: no mapping needs it any more; used: one does again; free: unused long enough for its slot to be given out. */
  change: 'unused' | 'used' | 'free';
}

export interface PortMapStatusPlan {
  namespace: string;
  name: string;
  observedGeneration: number;
  endpoint: { node: string; pod: string; address: string } | null;
  published: PublishedAddress[];
  addresses: string;
  conditions: Condition[];
}

export interface NodePlan {
  node: string;
  links: PlannedLink[];
  returnPaths: ReturnPath[];
  deliveries: Delivery[];
  /** Link slots this node (as the pod's node) must claim. */
  claims: SlotClaim[];
  linkChanges: LinkChange[];
  /** Statuses this node is the writer of. */
  portMapStatuses: PortMapStatusPlan[];
  /** Conditions of classes this node is the writer of, and nodes that have left the cluster and a row behind. */
  classConditions: { className: string; condition: Condition; goneNodes: string[] }[];
  /** This node's row per class name. */
  classNodeStatuses: { className: string; row: PortMapClassNodeStatus }[];
}

/** What the host looks like: the only input of a plan that differs between two agents. */
export interface HostFacts {
  interfaces: { name: string; mtu: number; addresses: string[] }[];
  /** Marks in use by kup-* devices now, read from the kernel: a link keeps its mark over a restart. */
  linkMarks: Record<string, number>;
  /** Ports the node itself listens on. Address null: every address. */
  listeners: { protocol: Protocol; port: number; address: string | null; role: string }[];
  /** What checks of the host have found: `failed` keeps mappings from working, `warnings` may. Absent: not yet made. */
  findings?: { failed: string[]; warnings: string[] };
}
