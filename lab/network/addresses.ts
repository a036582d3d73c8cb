/** Addresses and default routes of every host on its segments. */
import type { HostSetup } from './host-setup.ts';
import type { Segment } from './segments.ts';

/** Host name -> what it holds so that it reaches its gateway. */
export function addressSetups(segments: readonly Segment[]): Map<string, HostSetup> {
  const lines = new Map<string, string[]>();
  const add = (host: string, ...added: string[]): void => {
    lines.set(host, [...(lines.get(host) ?? []), ...added]);
  };
  for (const { gateway, hosts } of segments) {
    add(
      gateway.host,
      `addr add ${gateway.address}/${gateway.prefixLength} dev ${gateway.device}`,
      `link set ${gateway.device} up`,
    );
    for (const host of hosts) {
      add(
        host.host,
        `addr add ${host.address}/${host.prefixLength} dev ${host.device}`,
        `link set ${host.device} up`,
        `route add default via ${gateway.address} dev ${host.device}`,
      );
    }
  }
  return new Map([...lines].map(([host, ip]) => [host, { ip }]));
}
