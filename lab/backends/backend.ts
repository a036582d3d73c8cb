/** How machines come to be. Everything above this interface is the same for namespaces, virtual machines and containers. */
import type { Segment } from '../network/segments.ts';
import type { Host, HostRole } from './host.ts';

export interface Backend {
  readonly kind: 'netns';
  /** Makes the hosts, each with its station answering. */
  createHosts(wanted: readonly { name: string; role: HostRole }[]): Promise<void>;
  /** Lays the wires: afterwards every device of the segments exists on its host, down and without addresses. */
  connect(segments: readonly Segment[]): Promise<void>;
  /** A network namespace on a node for a pod, with no device yet but loopback. */
  createPod(node: string, pod: string): Promise<Host>;
  removePod(pod: string): Promise<void>;
  /** @throws Error naming the hosts there are. */
  host(name: string): Host;
  hosts(): Host[];
}
