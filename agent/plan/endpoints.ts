/** The one pod a mapping goes to: chosen alike by every agent. */
import type { V1EndpointSlice } from '@kubernetes/client-node';
import type { EndpointRef, PortMap, PortMapClass } from '../api/types.ts';
import { byName, type ClusterSnapshot } from './snapshot.ts';

export interface Endpoint extends EndpointRef {
  /** Port number that the slice lists under the Service port's name. */
  targetPort: number;
}

/** Ready endpoints of the mapping's Service that have the named port; one that two slices list counts once. */
export function candidates(snapshot: ClusterSnapshot, portMap: PortMap): Endpoint[] {
  const { namespace } = portMap.metadata;
  const { serviceRef, protocol } = portMap.spec;
  const found = new Map<string, Endpoint>();
  for (const slice of slicesOf(snapshot, `${namespace}/${serviceRef.name}`)) {
    const targetPort = slice.ports?.find(
      (each) => each.name === serviceRef.port && (each.protocol ?? 'TCP') === protocol,
    )?.port;
    if (targetPort === undefined) continue;
    for (const endpoint of slice.endpoints) {
      const [address] = endpoint.addresses;
      // Absent means ready: that is how the API defines it.
      if (endpoint.conditions?.ready === false || address === undefined || endpoint.nodeName === undefined) continue;
      const pod = endpoint.targetRef?.name ?? address;
      found.set(`${pod}/${address}`, { node: endpoint.nodeName, pod, address, targetPort });
    }
  }
  return [...found.values()].sort(
    (a, b) => byName(a.node, b.node) || byName(a.pod, b.pod) || byName(a.address, b.address),
  );
}

/** Slices by Service, made once per list: with thousands of mappings a search for each would take most of a pass. */
const slicesByService = new WeakMap<readonly V1EndpointSlice[], Map<string, V1EndpointSlice[]>>();

function slicesOf({ endpointSlices }: ClusterSnapshot, service: string): V1EndpointSlice[] {
  let index = slicesByService.get(endpointSlices);
  if (index === undefined) {
    index = new Map();
    for (const slice of endpointSlices) {
      if (slice.addressType !== 'IPv4') continue;
      const key = `${slice.metadata?.namespace}/${slice.metadata?.labels?.['kubernetes.io/service-name']}`;
      const slices = index.get(key);
      if (slices === undefined) index.set(key, [slice]);
      else slices.push(slice);
    }
    slicesByService.set(endpointSlices, index);
  }
  return index.get(service) ?? [];
}

/**
 * The endpoint in status while it is still a candidate of the best rank, so that a scale-up moves no live player; else
 * the first on an accepting node by node and pod name; else the smallest pod name.
 */
export function chooseEndpoint(
  snapshot: ClusterSnapshot,
  portMap: PortMap,
  portMapClass: PortMapClass,
): Endpoint | null {
  const all = candidates(snapshot, portMap);
  const accepting = all.filter((each) => Object.hasOwn(portMapClass.spec.nodes, each.node));
  const best = accepting.length > 0 ? accepting : all.sort((a, b) => byName(a.pod, b.pod) || byName(a.node, b.node));
  const current = portMap.status?.endpoint;
  const kept = best.find(
    (each) => each.pod === current?.pod && each.node === current.node && each.address === current.address,
  );
  return kept ?? best[0] ?? null;
}
