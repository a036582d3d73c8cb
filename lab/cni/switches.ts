/** Ways in which CNIs and their settings differ that matter to kuport. */
export interface CniSwitches {
  /**
   * Rewrite the source of everything that enters the pod network, whatever its destination. Cilium does so only for
   * destinations outside the node's own range; other CNIs do it for all.
   */
  masqueradeIntoPodNetwork: boolean;
  /** Route each local pod to its own lxc device instead of the whole range to cilium_host. */
  endpointRoutes: boolean;
  /**
   * `bpf`: what a pod sends out leaves by the uplink directly, past netfilter and the ip rules. Answers to what was
   * translated leave bare, as measured on a real node; so does here what the pod itself begins, which Cilium's own
   * masquerade would rewrite: that is not emulated.
   */
  hostRouting: 'legacy' | 'bpf';
}

export const defaultSwitches: CniSwitches = {
  masqueradeIntoPodNetwork: false,
  endpointRoutes: false,
  hostRouting: 'legacy',
};
