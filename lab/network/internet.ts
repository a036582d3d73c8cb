/** The internet between the sites: forwards, and drops what no transit network carries. */
import type { Topology } from '../topology/topology.ts';
import type { HostSetup } from './host-setup.ts';

/** Turned on where packets pass through; redirects would teach clients short cuts that real networks do not have. */
export const forwardingSysctls: Readonly<Record<string, string>> = {
  'net.ipv4.ip_forward': '1',
  'net.ipv4.conf.all.send_redirects': '0',
  'net.ipv4.conf.default.send_redirects': '0',
  'net.ipv4.conf.all.accept_redirects': '0',
};

/**
 * Anti-spoofing by source prefix. A reply that leaves a worker's own uplink with a pod's address dies here in the lab as
 * it does outside; without this rule the lab would show deliveries that no real network makes.
 */
export function internetSetup(topology: Topology): HostSetup {
  const { drops } = topology.internet;
  // nft refuses an empty set.
  const dropped =
    drops.length === 0 ? '' : `    ip saddr { ${drops.join(', ')} } counter drop comment "anti-spoofing"\n`;
  return {
    sysctls: forwardingSysctls,
    nft: `table ip internet {
  chain forward {
    type filter hook forward priority filter; policy accept;
${dropped}  }
}
`,
  };
}
