/** Which backend a lab is asked to be made with, and how it is made anew for a lab that is up. */
import type { Backend } from './backend.ts';
import type { Host, HostRole } from './host.ts';
import type { HolderConnection } from './netns/holder-connection.ts';
import { NetnsBackend } from './netns/netns-backend.ts';
import { VagrantBackend, type VagrantOptions } from './vagrant/vagrant-backend.ts';
import { VmBackend, type VmOptions } from './vm/vm-backend.ts';

export type BackendRequest =
  | { kind: 'netns' }
  | ({ kind: 'vm' } & Omit<VmOptions, 'topology'>)
  | ({ kind: 'vagrant' } & Omit<VagrantOptions, 'topology'>);

/** A lab all of whose hosts are on machines that others run has no namespaces on this machine. */
export function isOutside(request: BackendRequest): boolean {
  return request.kind === 'vagrant';
}

/** A backend that still has to make its hosts. */
export function newBackend(
  lab: string,
  connection: HolderConnection,
  request: BackendRequest,
  topology: VmOptions['topology'],
): Backend {
  switch (request.kind) {
    case 'netns':
      return new NetnsBackend(lab, connection);
    case 'vm':
      return new VmBackend(lab, connection, { ...request, topology });
    case 'vagrant':
      return new VagrantBackend(lab, connection, { ...request, topology });
  }
}

/** The backend of a lab that is up, with the hosts it has and the pods that were started since. */
export async function attachedBackend(
  lab: string,
  connection: HolderConnection,
  kind: Backend['kind'],
  hosts: readonly Pick<Host, 'name' | 'role'>[],
): Promise<Backend> {
  const backend = emptyBackend(lab, connection, kind);
  const stations = await connection.request('stations', {});
  const machineOf = new Map(stations.map((station) => [station.host, station.machine]));
  const pods = stations
    .filter((station) => station.host.startsWith('pod-'))
    .map((station) => ({ name: station.host, role: 'pod' as HostRole }));
  backend.adopt([...hosts, ...pods].map((host) => ({ ...host, machine: machineOf.get(host.name) ?? null })));
  return backend;
}

function emptyBackend(lab: string, connection: HolderConnection, kind: Backend['kind']): NetnsBackend {
  switch (kind) {
    case 'netns':
      return new NetnsBackend(lab, connection);
    case 'vm':
      return new VmBackend(lab, connection, null);
    case 'vagrant':
      return new VagrantBackend(lab, connection, null);
  }
}
