/** The EndpointSlices of a Service: what Kubernetes' own controller would write for the pods it selects. */
import type { V1EndpointSlice, V1Pod, V1Service } from '@kubernetes/client-node';

type Port = NonNullable<V1EndpointSlice['ports']>[number];

/** The Service's ports with the numbers this pod gives them: a target port may be a container port's name. */
function portsOn(pod: V1Pod, service: V1Service): Port[] {
  const containerPorts = pod.spec?.containers.flatMap((container) => container.ports ?? []) ?? [];
  return (service.spec?.ports ?? []).flatMap(({ name = '', protocol = 'TCP', port, targetPort = port }): Port[] => {
    const number =
      typeof targetPort === 'number'
        ? targetPort
        : containerPorts.find((each) => each.name === targetPort)?.containerPort;
    return number === undefined ? [] : [{ name, protocol, port: number }];
  });
}

function selects({ spec }: V1Service, pod: V1Pod): boolean {
  const wanted = Object.entries(spec?.selector ?? {});
  return wanted.length > 0 && wanted.every(([key, value]) => pod.metadata?.labels?.[key] === value);
}

/** Pods that give the ports other numbers stand in a slice of their own. A Service without pods has one empty slice. */
export function endpointSlices(service: V1Service, pods: readonly V1Pod[]): V1EndpointSlice[] {
  const { namespace = '', name = '' } = service.metadata ?? {};
  const groups = new Map<string, { ports: Port[]; pods: V1Pod[] }>();
  for (const pod of pods.filter((each) => selects(service, each))) {
    const ports = portsOn(pod, service);
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, pods: [] };
    group.pods.push(pod);
    groups.set(key, group);
  }
  if (groups.size === 0) groups.set('', { ports: [], pods: [] });
  return [...groups.values()].map((group, index) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace,
      name: `${name}-lab${index === 0 ? '' : `-${index}`}`,
      labels: { 'kubernetes.io/service-name': name },
    },
    addressType: 'IPv4',
    ports: group.ports,
    endpoints: group.pods.map((pod) => {
      const ready = pod.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;
      return {
        addresses: [pod.status?.podIP ?? ''],
        ...(pod.spec?.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }),
        targetRef: { kind: 'Pod', namespace, name: pod.metadata?.name ?? '' },
        conditions: { ready, serving: ready, terminating: false },
      };
    }),
  }));
}
