/** The one pod a mapping goes to: chosen alike by every agent. */
import type { V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import type { EndpointRef, PortMap, PortMapClass } from '../api/types.ts';
import { acceptingNodes } from './serving.ts';
import { byName, type ClusterSnapshot, groupedBy } from './snapshot.ts';

export interface Endpoint extends EndpointRef {
  /** Port number that the slice lists under the Service port's name. */
  targetPort: number;
}

const slicesOf = groupedBy<V1EndpointSlice>(({ addressType, metadata }) =>
  addressType === 'IPv4' ? `${metadata?.namespace}/${metadata?.labels?.['kubernetes.io/service-name']}` : undefined,
);

const servicesNamed = groupedBy<V1Service>(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`);

function serviceKey({ metadata, spec }: PortMap): string {
  return `${metadata.namespace}/${spec.serviceRef.name}`;
}

function byPlace(a: Endpoint, b: Endpoint): number {
  return byName(a.node, b.node) || byName(a.pod, b.pod) || byName(a.address, b.address) || a.targetPort - b.targetPort;
}

/** Endpoints of the mapping's Service that have the named port, ready or not; one that two slices list comes twice. */
function listed({ endpointSlices }: ClusterSnapshot, portMap: PortMap): (Endpoint & { isReady: boolean })[] {
  const { serviceRef, protocol } = portMap.spec;
  return slicesOf(endpointSlices, serviceKey(portMap)).flatMap((slice) => {
    const targetPort = slice.ports?.find(
      (each) => each.name === serviceRef.port && (each.protocol ?? 'TCP') === protocol,
    )?.port;
    if (targetPort === undefined) return [];
    return slice.endpoints.flatMap(({ addresses: [address], nodeName, targetRef, conditions }) => {
      if (address === undefined || nodeName === undefined) return [];
      // Absent means ready: that is how the API defines it.
      const isReady = conditions?.ready !== false;
      return [{ node: nodeName, pod: targetRef?.name ?? address, address, targetPort, isReady }];
    });
  });
}

/**
 * Ready endpoints of the mapping's Service that have the named port, by node and pod. One that two slices list counts
 * once, with the lower of its ports, whichever slice comes first.
 */
export function candidates(snapshot: ClusterSnapshot, portMap: PortMap): Endpoint[] {
  const found = new Map<string, Endpoint>();
  const ready = listed(snapshot, portMap).filter((each) => each.isReady);
  for (const { isReady: _, ...endpoint } of ready.sort(byPlace)) {
    const key = `${endpoint.pod}/${endpoint.address}`;
    if (!found.has(key)) found.set(key, endpoint);
  }
  return [...found.values()];
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
  const nodes = acceptingNodes(snapshot, portMapClass);
  const accepting = all.filter((each) => nodes.includes(each.node));
  const best = accepting.length > 0 ? accepting : all.sort((a, b) => byName(a.pod, b.pod) || byPlace(a, b));
  const current = portMap.status?.endpoint;
  const kept = best.find(
    (each) => each.pod === current?.pod && each.node === current.node && each.address === current.address,
  );
  return kept ?? best[0] ?? null;
}

/** Why a mapping has no candidate, and what would give it one. */
export function whyNoEndpoint(snapshot: ClusterSnapshot, portMap: PortMap): string {
  const { serviceRef, protocol } = portMap.spec;
  const service = `Service ${serviceKey(portMap)}`;
  const port = `${protocol} port named "${serviceRef.port}"`;
  const waiting = new Set(listed(snapshot, portMap).map((each) => `${each.pod}/${each.address}`)).size;
  if (waiting > 0)
    return `${service} has no ready endpoint with a ${port} (0 of ${waiting}): see why its pods are not ready`;
  const [object] = servicesNamed(snapshot.services, serviceKey(portMap));
  if (object === undefined) return `${service} (spec.serviceRef.name) does not exist: create it, or name another`;
  const ports = (object.spec?.ports ?? []).map((each) => `${each.name ?? '(unnamed)'}/${each.protocol ?? 'TCP'}`);
  if (!ports.includes(`${serviceRef.port}/${protocol}`)) {
    return `${service} has no ${port} (spec.serviceRef.port): it has ${ports.join(', ') || 'none'}`;
  }
  return `${service} has no endpoint with a ${port}: its selector matches no pod with an IPv4 address`;
}
