/** What this host looks like to a plan. */
import type { HostFacts } from '../plan/node-plan.ts';
import { type IpState, readIpState } from './ip-json.ts';
import { readListeners } from './listeners.ts';
import { devicePrefix, linkMarksOf, observeRouting } from './observe.ts';

/**
 * @param ip what `ip` has just said, when the caller has it already
 * @throws CommandError
 */
export async function readHostFacts(ip?: IpState): Promise<HostFacts> {
  const state = ip ?? (await readIpState());
  const [listeners, routing] = await Promise.all([readListeners(state.links), observeRouting(state)]);
  return {
    interfaces: state.links
      .filter((link) => !link.ifname.startsWith(devicePrefix))
      .map((link) => ({
        name: link.ifname,
        mtu: link.mtu,
        addresses: link.addr_info.filter((each) => each.family === 'inet').map((each) => each.local),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    linkMarks: linkMarksOf(routing),
    listeners,
  };
}
