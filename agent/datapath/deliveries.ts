/** Deliveries read back from the kernel's sets: what an earlier pass, or an earlier agent, has programmed. */
import type { Delivery } from '../plan/node-plan.ts';
import type { ElementSets } from './ruleset.ts';

/**
 * @param addressesOf addresses that a client can dial on an interface of this node, links included
 */
export function deliveriesOf(sets: ElementSets, addressesOf: (device: string) => string[]): Delivery[] {
  return [...sets.ports, ...sets['port-ranges']].flatMap(([key, { value = '', comment = '' }]) => {
    const match = /^"([^"]+)" \. (tcp|udp) \. (\d+)(?:-(\d+))?$/.exec(key);
    if (match === null) return [];
    const [, device = '', protocol, first = '', last = first] = match;
    const [targetAddress = '', targetPort = first] = value.split(' . ');
    return [
      {
        portMap: comment,
        interface: device,
        protocol: protocol === 'tcp' ? ('TCP' as const) : ('UDP' as const),
        port: Number(first),
        endPort: Number(last),
        targetAddress,
        targetPort: Number(targetPort),
        dialledAddresses: addressesOf(device),
        targetIsPod: false,
        idleSeconds: null,
      },
    ];
  });
}
