/** What this host looks like: the input of a plan that only this agent has. */
import type { HostFacts } from '../plan/node-plan.ts';
import { type HostInterface, readInterfaces } from './interfaces.ts';
import { readListeners } from './listeners.ts';
import { linkPrefix, readRoutes } from './observe.ts';

export interface HostReading {
  facts: HostFacts;
  interfaces: HostInterface[];
}

export async function readHost(): Promise<HostReading> {
  const [interfaces, routes] = await Promise.all([readInterfaces(), readRoutes()]);
  const listeners = await readListeners(interfaces);
  return {
    interfaces,
    facts: {
      interfaces: interfaces
        .filter((each) => !each.name.startsWith(linkPrefix))
        .map(({ name, mtu, addresses }) => ({ name, mtu, addresses })),
      // A link's mark is its table's number: the route that leads into the link tells it.
      linkMarks: Object.fromEntries(
        routes
          .filter((route) => route.device.startsWith(linkPrefix))
          .map((route) => [route.device, Number(route.table)]),
      ),
      listeners,
    },
  };
}
