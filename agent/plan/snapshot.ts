/** What every agent sees alike: the watched objects, as they are in its caches at one moment. */
import type { V1EndpointSlice, V1Namespace, V1Node, V1Service } from '@kubernetes/client-node';
import type { PortMap, PortMapClass } from '../api/types.ts';

export interface ClusterSnapshot {
  nodes: readonly V1Node[];
  namespaces: readonly V1Namespace[];
  classes: readonly PortMapClass[];
  portMaps: readonly PortMap[];
  services: readonly V1Service[];
  endpointSlices: readonly V1EndpointSlice[];
  /** Data of ConfigMap kube-system/cilium-config; absent where there is none, or where nobody has looked. */
  cniConfig?: Readonly<Record<string, string>>;
}

/** Code-unit order, the same on every machine whatever its locale. */
export function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function isNodeReady(node: V1Node): boolean {
  return node.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;
}

export function internalAddress(node: V1Node): string | undefined {
  return node.status?.addresses?.find((each) => each.type === 'InternalIP' && each.address.includes('.'))?.address;
}

/**
 * A look-up of list items by key, made once per list: with thousands of mappings a search for each would take most of a
 * pass's time. Items without a key are left out.
 */
export function groupedBy<Item>(
  keyOf: (item: Item) => string | undefined,
): (items: readonly Item[], key: string) => readonly Item[] {
  const indexes = new WeakMap<readonly Item[], Map<string, Item[]>>();
  return (items, key) => {
    let index = indexes.get(items);
    if (index === undefined) {
      index = new Map();
      for (const item of items) {
        const own = keyOf(item);
        if (own === undefined) continue;
        const group = index.get(own);
        if (group === undefined) index.set(own, [item]);
        else group.push(item);
      }
      indexes.set(items, index);
    }
    return index.get(key) ?? [];
  };
}
