/** A home router: translates what leaves, lets in only what belongs to a flow that left. */
import type { NatKind } from '../topology/topology.ts';
import type { HostSetup } from './host-setup.ts';
import { forwardingSysctls } from './internet.ts';

/**
 * port-restricted: Linux masquerade, which keeps the source port where it is free, so that a peer can be told where to
 * send. symmetric: a fresh random port for each destination, so that it cannot.
 */
export function routerSetup(nat: Exclude<NatKind, 'public'>): HostSetup {
  const masquerade = nat === 'symmetric' ? 'masquerade fully-random' : 'masquerade';
  return {
    sysctls: forwardingSysctls,
    nft: `table ip router {
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "wan" counter ${masquerade} comment "NAT"
  }
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "wan" ct state new counter drop comment "unsolicited to the router"
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "wan" ct state new counter drop comment "unsolicited to the LAN"
  }
}
`,
  };
}
