/** The WireGuard mesh that joins control host and nodes over all sites, as netbird and its like set it up. */
import { generateKeyPairSync } from 'node:crypto';
import { parseSubnet } from '../topology/ipv4.ts';
import type { Site, Topology } from '../topology/topology.ts';

export interface MeshMember {
  name: string;
  site: string;
  address: string;
  meshAddress: string;
  privateKey: string;
  publicKey: string;
}

/** Mark of WireGuard's own outer packets, netbird's number: its rule at preference 110 sends everything else to table 7120. */
const outerPacketMark = '0x1bd00';

/** A Curve25519 key pair as WireGuard writes it: the last 32 bytes of Node's DER encodings, base64. */
function keyPair(): { privateKey: string; publicKey: string } {
  const pair = generateKeyPairSync('x25519', {
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  });
  return {
    privateKey: pair.privateKey.subarray(-32).toString('base64'),
    publicKey: pair.publicKey.subarray(-32).toString('base64'),
  };
}

/** Control host and nodes, each with a fresh key pair. */
export function meshMembers(topology: Topology): MeshMember[] {
  return [topology.control, ...topology.nodes].map(({ name, site, address, meshAddress }) => ({
    ...{ name, site, address, meshAddress },
    ...keyPair(),
  }));
}

/**
 * Where `from` may send its first packet to reach `to`: its own address on the same site or a public one, its router's
 * when the router keeps ports, nowhere behind a symmetric NAT (then `to` must speak first).
 */
function endpoint(from: MeshMember, to: MeshMember, sites: ReadonlyMap<string, Site>): string | null {
  const site = sites.get(to.site);
  if (to.site === from.site || site?.nat === 'public') return to.address;
  return site?.nat === 'port-restricted' ? (site.router ?? null) : null;
}

/** Input of `wg setconf` for one member: every other member is a peer with its one mesh address. */
export function wireguardConfiguration(topology: Topology, members: readonly MeshMember[], self: MeshMember): string {
  const sites = new Map(topology.sites.map((site) => [site.name, site]));
  const peers = members
    .filter((peer) => peer !== self)
    .map((peer) => {
      const at = endpoint(self, peer, sites);
      return [
        '[Peer]',
        `PublicKey = ${peer.publicKey}`,
        `AllowedIPs = ${peer.meshAddress}/32`,
        `PersistentKeepalive = ${topology.mesh.keepaliveSeconds}`,
        ...(at === null ? [] : [`Endpoint = ${at}:${topology.mesh.port}`]),
      ].join('\n');
    });
  const own = [
    '[Interface]',
    `PrivateKey = ${self.privateKey}`,
    `ListenPort = ${topology.mesh.port}`,
    `FwMark = ${outerPacketMark}`,
  ];
  return `${own.join('\n')}\n\n${peers.join('\n\n')}\n`;
}

/** `ip -batch` lines that give the mesh interface its address once it exists. */
export function meshInterfaceLines(topology: Topology, self: MeshMember): string[] {
  const { interface: device, mtu, cidr } = topology.mesh;
  return [
    `link set ${device} mtu ${mtu}`,
    `addr add ${self.meshAddress}/${parseSubnet(cidr).prefixLength} dev ${device}`,
    `link set ${device} up`,
  ];
}
