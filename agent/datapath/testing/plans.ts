/** Plans written by hand, for tests of what becomes of a plan. */
import type { Delivery, NodePlan, PlannedLink, ReturnPath } from '../../plan/node-plan.ts';

export const emptyPlan: NodePlan = {
  node: 'edge-a',
  links: [],
  returnPaths: [],
  deliveries: [],
  claims: [],
  linkChanges: [],
  portMapStatuses: [],
  classConditions: [],
  classNodeStatuses: [],
};

export function delivery(over: Partial<Delivery> = {}): Delivery {
  const port = over.port ?? 3000;
  return {
    portMap: 'games/quake',
    interface: 'enp1s0',
    protocol: 'UDP',
    port,
    endPort: port,
    targetAddress: '10.244.1.7',
    targetPort: port,
    dialledAddresses: ['203.0.113.9'],
    targetIsPod: true,
    idleSeconds: null,
    ...over,
  };
}

export function link(over: Partial<PlannedLink> = {}): PlannedLink {
  return {
    device: 'kup-00000001',
    className: 'public',
    peer: 'worker-b',
    vni: 4242,
    port: 4790,
    underlayAddress: '100.64.93.143',
    peerUnderlayAddress: '100.64.93.145',
    address: '169.254.77.0',
    peerAddress: '169.254.77.1',
    mtu: 1370,
    ...over,
  };
}

export function returnPath(over: Partial<ReturnPath> = {}): ReturnPath {
  return {
    device: 'kup-00000001',
    mark: 0x6b700001,
    table: 0x6b700001,
    address: '169.254.77.0',
    peerAddress: '169.254.77.1',
    peerUnderlayAddress: '100.64.93.145',
    ...over,
  };
}

/** A pod's node: one link, what arrives over it, its way back; and a range beside it. */
export const podNodePlan: NodePlan = {
  ...emptyPlan,
  links: [link()],
  returnPaths: [returnPath()],
  deliveries: [
    delivery({ interface: 'kup-00000001', dialledAddresses: ['169.254.77.0'] }),
    delivery({ portMap: 'games/ranges', protocol: 'TCP', port: 27015, endPort: 27115, targetPort: 27015 }),
  ],
};
