/** What the status writer of a mapping says of it. */
import { condition, type ProgrammedReason, type Verdict } from '../api/conditions.ts';
import type { PublishedAddress } from '../api/types.ts';
import { mappedInterfaces } from './admission.ts';
import type { Mapping } from './mapping.ts';
import type { HostFacts, PortMapStatusPlan } from './node-plan.ts';

/** Where the port answers: every mapped interface of every answering node that has an address. */
function published({ portMap, portMapClass, answering }: Mapping, node: string, host: HostFacts): PublishedAddress[] {
  if (portMapClass === undefined) return [];
  return answering.flatMap((each) =>
    mappedInterfaces(portMap, portMapClass, each).flatMap((name) => {
      const address =
        each === node
          ? host.interfaces.find((own) => own.name === name)?.addresses[0]
          : portMapClass.status?.nodes?.find((row) => row.name === each)?.addresses?.[name];
      return address === undefined ? [] : [{ node: each, interface: name, address }];
    }),
  );
}

export function portMapStatus(mapping: Mapping, node: string, host: HostFacts): PortMapStatusPlan {
  const { portMap, accepted, endpoint } = mapping;
  const { namespace, name, generation = 0 } = portMap.metadata;
  const addresses = published(mapping, node, host);
  const programmed = mapping.obstacle ?? programmedVerdict(mapping, addresses);
  return {
    namespace,
    name,
    observedGeneration: generation,
    endpoint: endpoint === null ? null : { node: endpoint.node, pod: endpoint.pod, address: endpoint.address },
    published: addresses,
    addresses: addresses.map((each) => each.address).join(', '),
    conditions: [condition('Accepted', accepted, generation), condition('Programmed', programmed, generation)],
  };
}

function programmedVerdict(
  { portMap, portMapClass, serving }: Mapping,
  addresses: readonly PublishedAddress[],
): Verdict<ProgrammedReason> {
  if (addresses.length > 0) return { ok: true, reason: 'Programmed', message: '' };
  const wanted = portMapClass === undefined || serving === null ? [] : mappedInterfaces(portMap, portMapClass, serving);
  const message =
    wanted.length === 0
      ? `spec.interfaces (${portMap.spec.interfaces?.join(', ')}) names none that class ${portMap.spec.className} has on node ${serving}: name one of that node's, or none`
      : `node ${serving} has no IPv4 address on ${wanted.join(', ')}, which class ${portMap.spec.className} lists for it in spec.nodes: name an interface that has one`;
  return { ok: false, reason: 'NoInterfaceOnNode', message };
}
