/**
 * What the driver and the holder say to each other over the lab's unix socket: JSON, one message a line.
 * A message names the host whose station it is for; the empty name is the holder itself.
 */

/** How a host's station is started. */
export interface StationStart {
  host: string;
  /** Named network namespace below the lab's /run/netns; null for the lab's own (where links between hosts are made). */
  networkNamespace: string | null;
  /**
   * Give the host its own mount and UTS namespaces: wireguard-go and wg find an interface by a socket named after it in
   * /run/wireguard, so two nodes with a wt0 each need one such folder each; and a shell shows the host's own name.
   */
  ownMounts: boolean;
}

export interface HolderOperations {
  startStation: { params: StationStart; result: { pid: number } };
  /** Ends a station (a pod that goes); its children go with it. */
  stopStation: { params: { host: string }; result: Record<string, never> };
  stations: { params: Record<string, never>; result: { host: string; pid: number }[] };
  /** The driver's own document about the lab, kept so that a later `lab` command finds it. */
  setState: { params: { state: unknown }; result: Record<string, never> };
  getState: { params: Record<string, never>; result: { state: unknown } };
  /** From now on the lab outlives its driver. */
  detach: { params: Record<string, never>; result: Record<string, never> };
  shutdown: { params: Record<string, never>; result: Record<string, never> };
}

export type HolderOperation = keyof HolderOperations;

/** Driver to holder, and holder to driver with the answer or an event of that host. */
export interface Envelope {
  host: string;
  message: unknown;
}
