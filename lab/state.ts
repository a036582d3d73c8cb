/** What a lab tells a later `lab` command about itself: kept by its holder, gone with it. */
import type { BackendKind, Substance } from './backends/backend.ts';
import type { HostRole } from './backends/host.ts';
import type { MeshKinds } from './network/wireguard.ts';
import type { Phase } from './phases.ts';
import type { Topology } from './topology/topology.ts';

export interface LabState {
  name: string;
  /** ISO 8601. */
  startedAt: string;
  topology: Topology;
  backend: BackendKind;
  wireguard: MeshKinds;
  hosts: { name: string; role: HostRole; substance: Substance }[];
  /** How many times slower than namespaces its machines are. */
  pace: number;
  /** Agent processes by node, as the node's station numbers them; empty for a lab without agents. */
  agents: Record<string, number>;
  neighbours: string[];
  /** What start-up took. */
  phases: Phase[];
  /** kubeconfig of a cluster admin, valid on any host of the mesh. */
  adminKubeconfig: string;
}
