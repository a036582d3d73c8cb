/** Builds the network of a topology on hosts that exist: wires, addresses, internet, routers, mesh. */
import type { Backend } from '../backends/backend.ts';
import type { Topology } from '../topology/topology.ts';
import { addressSetups } from './addresses.ts';
import { applyHostSetup, type HostSetup } from './host-setup.ts';
import { forwardingSysctls, internetSetup } from './internet.ts';
import { type MeshMember, meshInterfaceLines, meshMembers, wireguardConfiguration } from './mesh.ts';
import { routerSetup } from './router.ts';
import { routerName, segmentsOf } from './segments.ts';
import { configureWireguard, type MeshKinds, startWireguard } from './wireguard.ts';

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
 * @returns which WireGuard each of them has
 */
export async function buildMesh(backend: Backend, topology: Topology): Promise<MeshKinds> {
  const members = meshMembers(topology);
  const device = topology.mesh.interface;
  const kinds = await Promise.all(
    members.map(async (member) => {
      const kind = await startWireguard(backend.host(member.name), device, meshInterfaceLines(topology, member));
      return [member.name, kind] as const;
    }),
  );
  // One after the other, those that can be reached first. A member greets its peers as soon as it knows them; two that
  // greet each other at once both wait for an answer, and a greeting that finds nobody is repeated only after 5 s
  // (measured: in one start of three the mesh then took 5.1 s instead of 0.2 s).
  const isPublic = (member: MeshMember): boolean =>
    topology.sites.some((site) => site.name === member.site && site.nat === 'public');
  const inOrder = [...members.filter(isPublic), ...members.filter((member) => !isPublic(member))];
  for (const member of inOrder) {
    await configureWireguard(backend.host(member.name), device, wireguardConfiguration(topology, members, member));
  }
  return Object.fromEntries(kinds);
}

/**
 * Waits until every node reaches the control host over the mesh, which takes a handshake each.
 * @throws HostCommandError with ping's words for the node that does not
 */
export async function awaitMesh(backend: Backend, topology: Topology): Promise<void> {
  const reach = ['ping', '-q', '-c', '1', '-W', '1', '-w', '8', topology.control.meshAddress];
  await Promise.all(topology.nodes.map((node) => backend.host(node.name).exec(reach)));
}
