/** The Kubernetes side of a lab: the API server in the control host and everyone's way to it. */
import { randomBytes } from 'node:crypto';
import type { Backend } from './backends/backend.ts';
import { makeServerCertificates } from './cluster/certificates.ts';
import { ClusterClient } from './cluster/client.ts';
import type { ApiServerConfig } from './cluster/config.ts';
import { renderKubeconfig } from './cluster/kubeconfig.ts';
import type { Topology } from './topology/topology.ts';
import { waitFor } from './wait.ts';
import { namespaceObject, nodeObject } from './workload/objects.ts';

export const apiServerLog = 'apiserver';
const apiPort = 6443;
/** Name of the API server's socket in the lab's folder. */
export const apiSocketName = 'api.sock';
const configurationPath = '/run/lab/apiserver.json';
export const requestLogPath = '/run/lab/api-requests.log';

export interface ControlPlane {
  client: ClusterClient;
  /** kubeconfig of a user, e.g. a node's agent; valid on any host of the mesh. */
  kubeconfigFor(user: string): string;
}

/** Whether the server answers at all. */
export async function isApiUp(client: ClusterClient): Promise<boolean> {
  return client.call('GET', '/version').then(
    () => true,
    () => false,
  );
}

/** Users: one agent per node, and the admin. */
function makeTokens(topology: Topology): Map<string, string> {
  const users = ['admin', ...topology.nodes.map((node) => agentUser(node.name))];
  return new Map(users.map((user) => [user, randomBytes(16).toString('hex')]));
}

export function agentUser(node: string): string {
  return `system:serviceaccount:kuport-system:kuport-agent-${node}`;
}

/**
 * Starts the embedded API server, reached over the mesh with TLS, and registers the topology's nodes.
 * @param timeoutMs milliseconds until it must answer
 * @throws Error with the server's log when it does not come up
 */
export async function startControlPlane(
  backend: Backend,
  topology: Topology,
  timeoutMs: number,
): Promise<ControlPlane> {
  const control = backend.host(topology.control.name);
  const { installation } = control;
  const { meshAddress } = topology.control;
  const socket = await backend.shareSocket(control.name, apiSocketName);
  const certificates = await makeServerCertificates([meshAddress, '127.0.0.1', 'localhost', 'kubernetes']);
  const tokens = makeTokens(topology);
  const configuration: ApiServerConfig = {
    listen: { address: '0.0.0.0', port: apiPort },
    unixSocket: socket.there,
    tls: { ca: certificates.caPem, cert: certificates.serverCertPem, key: certificates.serverKeyPem },
    tokens: Object.fromEntries([...tokens].map(([user, token]) => [token, user])),
    crdFolders: [`${installation.root}/crds`],
    logFile: requestLogPath,
  };
  await control.station.request('writeFile', {
    path: configurationPath,
    text: JSON.stringify(configuration),
    mode: 0o600,
  });
  const server = await control.spawn(apiServerLog, [
    ...installation.node,
    `${installation.root}/dist/apiserver.js`,
    '--config',
    configurationPath,
  ]);
  const client = new ClusterClient({ socketPath: socket.here });
  let ended = false;
  void server.ended.then(() => {
    ended = true;
  });
  try {
    await waitFor(
      'the API server to answer',
      async () => {
        if (ended) throw new Error('it has ended');
        return (await isApiUp(client)) ? true : undefined;
      },
      { timeoutMs, intervalMs: 10, restFactor: 6 },
    );
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${await control.readLog(apiServerLog, 3000).catch(() => '')}`);
  }
  await Promise.all([
    ...topology.nodes.map((node) => client.apply(nodeObject(node))),
    client.apply(namespaceObject('kuport-system')),
  ]);
  return {
    client,
    kubeconfigFor: (user) => {
      const token = tokens.get(user);
      if (token === undefined) throw new Error(`no user is named ${user}`);
      return renderKubeconfig({ server: `https://${meshAddress}:${apiPort}`, caPem: certificates.caPem, user, token });
    },
  };
}
