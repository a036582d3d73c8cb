/**
 * Toward a link the dialled port stays, and the interface it was dialled on does not travel along: of two mappings that
 * have one port on two interfaces of a node, only one can use the link to a pod's node.
 */
import { byAge, describeRange, portMapKey, portRange } from './admission.ts';
import { HeldPorts } from './held-ports.ts';
import type { Mapping } from './mapping.ts';

/** The mappings in their order, each without the accepting nodes whose link an older one uses for the same ports. */
export function shareLinks(mappings: readonly Mapping[]): Mapping[] {
  const held = new HeldPorts<Mapping>();
  const shared = new Map<Mapping, Mapping>();
  for (const mapping of [...mappings].sort((a, b) => byAge(a.portMap, b.portMap))) {
    shared.set(mapping, withoutHeldLinks(mapping, held));
  }
  return mappings.map((mapping) => shared.get(mapping) ?? mapping);
}

function withoutHeldLinks(mapping: Mapping, held: HeldPorts<Mapping>): Mapping {
  const { portMap, endpoint } = mapping;
  const range = portRange(portMap);
  let rest = mapping;
  for (const node of mapping.remote) {
    const place = [portMap.spec.className, node, endpoint?.node, portMap.spec.protocol].join(' ');
    const found = held.find(place, range);
    if (found === undefined) {
      held.add(place, range, mapping);
      continue;
    }
    const others = (name: string): boolean => name !== node;
    rest = {
      ...rest,
      programming: rest.programming.filter(others),
      remote: rest.remote.filter(others),
      answering: rest.answering.filter(others),
      obstacle: {
        ok: false,
        reason: 'ReturnPathUnavailable',
        message: `port ${describeRange(range)}/${portMap.spec.protocol}: the link from ${node} to ${endpoint?.node} carries ${describeRange(found)} for PortMap ${portMapKey(found.holder.portMap)}, which is older: ask for another port, or place the pod on ${node}`,
      },
    };
  }
  return rest;
}
