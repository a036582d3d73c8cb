/** Builds the network of a topology on hosts that exist: wires, addresses, internet, routers, mesh. */
import type { Backend } from '../backends/backend.ts';
import type { Topology } from '../topology/topology.ts';
import { addressSetups } from './addresses.ts';
import { applyHostSetup, type HostSetup } from './host-setup.ts';
import { forwardingSysctls, internetSetup } from './internet.ts';
import { type MeshMember, meshInterfaceLines, meshMembers, wireguardConfiguration } from './mesh.ts';
import { routerSetup } from './router.ts';
import { routerName, segmentsOf } from './segments.ts';
import { availableWireguard, startWireguard, type WireguardKind } from './wireguard.ts';

/** Lays the wires and gives every host its addresses, routes and, on internet and routers, their rules. */
export async function buildUnderlay(backend: Backend, topology: Topology): Promise<void> {
  const segments = segmentsOf(topology);
  await backend.connect(segments);
  const addresses = addressSetups(segments);
  const roles = new Map<string, HostSetup>([['internet', internetSetup(topology)]]);
  for (const site of topology.sites) if (site.nat !== 'public') roles.set(routerName(site), routerSetup(site.nat));
  for (const node of topology.nodes) roles.set(node.name, { sysctls: forwardingSysctls });
  await Promise.all(
    [...addresses].map(([host, setup]) => applyHostSetup(backend.host(host), { ...setup, ...roles.get(host) })),
  );
}

/**
 * Starts WireGuard on control host and nodes, with fresh keys.
 * @returns which WireGuard it is
 */
export async function buildMesh(backend: Backend, topology: Topology): Promise<WireguardKind> {
  const members = meshMembers(topology);
  const kind = await availableWireguard(backend.host('internet'));
  const start = (member: MeshMember): Promise<void> =>
    startWireguard(
      backend.host(member.name),
      kind,
      topology.mesh.interface,
      wireguardConfiguration(topology, members, member),
      meshInterfaceLines(topology, member),
    );
  // Public members first: a first handshake that finds nobody is repeated only after 5 s.
  const isPublic = (member: MeshMember): boolean =>
    topology.sites.some((site) => site.name === member.site && site.nat === 'public');
  await Promise.all(members.filter(isPublic).map(start));
  await Promise.all(members.filter((member) => !isPublic(member)).map(start));
  return kind;
}

/**
 * Waits until every node reaches the control host over the mesh, which takes a handshake each.
 * @throws HostCommandError with ping's words for the node that does not
 */
export async function awaitMesh(backend: Backend, topology: Topology): Promise<void> {
  const reach = ['ping', '-q', '-c', '1', '-W', '1', '-w', '5', topology.control.meshAddress];
  await Promise.all(topology.nodes.map((node) => backend.host(node.name).exec(reach)));
}
