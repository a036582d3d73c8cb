/** A node as its CNI sees it. */
import type { CniSwitches } from './switches.ts';

export interface CniNode {
  name: string;
  /** Distinguishes the nodes' tunnel MACs. */
  index: number;
  meshAddress: string;
  meshInterface: string;
  /** Bytes. */
  meshMtu: number;
  podCidr: string;
  /** Address of cilium_host: the pods' gateway and the source of what the node sends them. */
  routerAddress: string;
  uplink: { device: string; address: string; gateway: string };
  switches: CniSwitches;
}
