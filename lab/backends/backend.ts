/** How machines come to be. Everything above this interface is the same for namespaces, virtual machines and containers. */
import type { Segment } from '../network/segments.ts';
import type { Host, HostRole } from './host.ts';

export type BackendKind = 'netns' | 'vm' | 'vagrant';

/** What a host is made of. */
export type Substance = 'namespace' | 'machine';

export interface Backend {
  readonly kind: BackendKind;
  /** Makes the hosts, each with its station answering. */
  createHosts(wanted: readonly { name: string; role: HostRole }[]): Promise<void>;
  /** Lays the wires: afterwards every device of the segments exists on its host, down and without addresses. */
  connect(segments: readonly Segment[]): Promise<void>;
  /** A network namespace on a node for a pod, with no device yet but loopback. */
  createPod(node: string, pod: string): Promise<Host>;
  removePod(pod: string): Promise<void>;
  /**
   * A unix socket that a server on `host` listens on and this process connects to.
   * @returns the path to listen on there, and the path to connect to here, in that order
   */
  shareSocket(host: string, name: string): Promise<{ there: string; here: string }>;
  /**
   * Runs a command on a host with this terminal's own input and output.
   * @returns its exit status
   */
  enter(host: string, argv: readonly string[]): Promise<number>;
  substanceOf(host: string): Substance;
  /** @throws Error naming the hosts there are. */
  host(name: string): Host;
  hosts(): Host[];
}
