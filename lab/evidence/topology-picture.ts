/**
 * What a drawing of the lab needs to know, and nothing about how the lab is built: the report, `lab graph` and the
 * README's picture are all made from this. Addresses are the ones in force, without a prefix length.
 */

/** What a site's router does to connections that leave it; `none` for a site whose machines have public addresses. */
export type NatKind = 'none' | 'port-restricted' | 'symmetric' | (string & {});

export interface PictureSite {
  name: string;
  kind: 'public' | 'home';
  /** Present where a router stands between the site and the internet. */
  router?: { name: string; nat: NatKind; wanAddress: string; lanAddress: string };
  /** The prefix behind the router, e.g. 192.168.1.0/24. Two sites may well have the same one. */
  lan?: string;
}

export interface PictureNode {
  name: string;
  /** Name of one of the sites. */
  site: string;
  /** A control host serves the Kubernetes API and carries no pods. */
  role?: 'node' | 'control';
  interface: string;
  address: string;
  /** Null where the host is not in the mesh. */
  meshAddress: string | null;
  podCidr: string | null;
  /** Pods on this node that the drawing should show. */
  pods?: readonly { name: string; address: string }[];
}

export interface PictureClient {
  name: string;
  /** The site whose router it is behind; absent for a client on the internet itself. */
  site?: string;
  address: string;
}

export interface TopologyPicture {
  name: string;
  sites: readonly PictureSite[];
  nodes: readonly PictureNode[];
  clients: readonly PictureClient[];
  /** The WireGuard mesh over all nodes; null for a lab without one. */
  mesh: { interface: string; implementation: string; mtu: number } | null;
}

/** The node (not a router) that answers for an address on its interface or in the mesh; undefined when there is none. */
export function nodeWithAddress(topology: TopologyPicture, address: string): PictureNode | undefined {
  return topology.nodes.find((node) => node.address === address || node.meshAddress === address);
}
