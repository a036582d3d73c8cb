/**
 * What the driver and the holder say to each other over the lab's unix socket: JSON, one message a line.
 * A message names the host whose station it is for; the empty name is the holder itself.
 */
import type { SshTarget } from '../ssh/ssh-connection.ts';
import type { OutsideCommand } from './last-command.ts';

/** How the station of a host that is a namespace of the lab is started. */
export interface NamespaceStart {
  host: string;
  /** Named network namespace below the lab's /run/netns; null for the lab's own (where links between hosts are made). */
  networkNamespace: string | null;
  /**
   * Give the host its own mount and UTS namespaces: wireguard-go and wg find an interface by a socket named after it in
   * /run/wireguard, so two nodes with a wt0 each need one such folder each; and a shell shows the host's own name.
   */
  ownMounts: boolean;
}

/** How the station of a host on a machine (the machine itself, or a pod on it) is started. */
export interface MachineStart {
  host: string;
  /** A machine opened before. */
  machine: string;
  /** Shell command that becomes the station. */
  command: string;
}

export type StationStart = NamespaceStart | MachineStart;

/** A machine that is reached with ssh. */
export interface MachineOpening {
  machine: string;
  target: SshTarget;
  username: string;
  /** Path of the private key. */
  privateKey: string;
  /** File that ends with the machine's last words, shown when its connection closes. */
  consoleFile?: string;
  /** Milliseconds until the connection is given up. */
  timeoutMs: number;
}

export interface HolderOperations {
  startStation: { params: StationStart; result: { pid: number } };
  /** Ends a station (a pod that goes); its children go with it. */
  stopStation: { params: { host: string }; result: Record<string, never> };
  stations: { params: Record<string, never>; result: { host: string; pid: number; machine: string | null }[] };
  /** Connects to a machine; the connection is the lab's from then on. */
  openMachine: { params: MachineOpening; result: Record<string, never> };
  /** Runs a shell command on a machine, before it has a station. */
  runOnMachine: {
    params: { machine: string; command: string; inputFile?: string };
    result: { code: number; stdout: string; stderr: string };
  };
  /** Makes a unix socket of a machine appear in the lab's folder. */
  shareSocket: { params: { machine: string; remotePath: string; localPath: string }; result: Record<string, never> };
  /**
   * Runs a program to its end outside the lab, its output added to a file. Only for a holder that has no namespaces of its
   * own. Ends with the lab.
   */
  runOutside: { params: OutsideCommand & { outputFile: string }; result: { code: number } };
  /** What the holder runs before it ends, whatever ends it. */
  setLastCommand: { params: OutsideCommand; result: Record<string, never> };
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
