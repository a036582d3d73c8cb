import type { HostSetup } from '../network/host-setup.ts';

/**
 * One set-up that leaves a host as `setups` do when applied one after the other: one process per tool instead of one per
 * tool and part. Within a set-up `ip` lines come before everything else, so no part may need another's rules for its links.
 */
export function merged(setups: readonly HostSetup[]): HostSetup {
  const text = (part: 'iptables' | 'nft'): string => setups.map((setup) => setup[part] ?? '').join('');
  const lines = (part: 'ip' | 'bridge' | 'tc'): string[] => setups.flatMap((setup) => setup[part] ?? []);
  return {
    ip: lines('ip'),
    bridge: lines('bridge'),
    tc: lines('tc'),
    sysctls: Object.fromEntries(setups.flatMap(({ sysctls = {} }) => Object.entries(sysctls))),
    iptables: text('iptables'),
    nft: text('nft'),
  };
}
