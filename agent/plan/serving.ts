/** Which nodes carry a mapping, and which of them speaks for it. */
import { servingMode } from '../api/defaults.ts';
import type { PortMapClass } from '../api/types.ts';
import type { Endpoint } from './endpoints.ts';
import { byName, type ClusterSnapshot, isNodeReady } from './snapshot.ts';

/** Accepting nodes that exist, by name; a name in the class without a Node object is skipped. */
export function acceptingNodes(snapshot: ClusterSnapshot, portMapClass: PortMapClass): string[] {
  const existing = new Set(snapshot.nodes.map((node) => node.metadata?.name));
  return Object.keys(portMapClass.spec.nodes)
    .filter((name) => existing.has(name))
    .sort(byName);
}

function ready(snapshot: ClusterSnapshot): Set<string | undefined> {
  return new Set(snapshot.nodes.filter(isNodeReady).map((node) => node.metadata?.name));
}

/**
 * The endpoint's node if it accepts the class, else the first accepting node that is Ready. A NotReady node is passed
 * over while another is Ready; with none Ready the choice is as if all were.
 */
export function servingNode(snapshot: ClusterSnapshot, portMapClass: PortMapClass, endpoint: Endpoint): string | null {
  const accepting = acceptingNodes(snapshot, portMapClass);
  const alive = ready(snapshot);
  const usable = accepting.some((name) => alive.has(name)) ? accepting.filter((name) => alive.has(name)) : accepting;
  return usable.includes(endpoint.node) ? endpoint.node : (usable[0] ?? null);
}

/** Single: the serving node alone. Multi: every accepting node. */
export function programmingNodes(snapshot: ClusterSnapshot, portMapClass: PortMapClass, serving: string): string[] {
  return servingMode(portMapClass) === 'Multi' ? acceptingNodes(snapshot, portMapClass) : [serving];
}

/**
 * Serving node; without one the endpoint's node, else the first accepting node, else the first node. Ready ones come
 * first: of a node that is down nobody would hear that it is.
 */
export function statusWriter(
  snapshot: ClusterSnapshot,
  portMapClass: PortMapClass | undefined,
  endpoint: Endpoint | null,
  serving: string | null,
): string | null {
  const names = snapshot.nodes.flatMap((node) => node.metadata?.name ?? []).sort(byName);
  const alive = ready(snapshot);
  const order = [
    ...(serving === null ? [] : [serving]),
    ...(endpoint !== null && names.includes(endpoint.node) ? [endpoint.node] : []),
    ...(portMapClass === undefined ? [] : acceptingNodes(snapshot, portMapClass)),
    ...names,
  ];
  return order.find((name) => alive.has(name)) ?? order[0] ?? null;
}
