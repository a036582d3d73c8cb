/**
 * The API server that the contract tests run against: the embedded one, or with KUPORT_TEST_API=kubernetes a real
 * kube-apiserver with etcd and, where there is one, kube-controller-manager. Both are reached by a unix socket.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../../wait.ts';
import { ClusterClient } from '../client.ts';
import { fixtures, startTestServer } from '../fixtures/server.ts';
import { kubernetesBinaries } from '../kubernetes/binaries.ts';
import { controlPlaneCommands } from '../kubernetes/command-lines.ts';
import { openDoor } from '../kubernetes/door.ts';
import { readManifests } from '../manifests.ts';

export const isReal = process.env.KUPORT_TEST_API === 'kubernetes';

export interface ContractServer {
  client: ClusterClient;
  socketPath: string;
  /** A client with another identity; real server only. */
  as(token: string): ClusterClient;
  /** What the server has logged of requests by service accounts; real server only. */
  audited(): { verb: string; objectRef?: Record<string, string>; responseStatus?: { code: number } }[];
  close(): Promise<void>;
}

/** CRDs in these folders are there from the start. */
export async function startContractServer(crdFolders: string[] = [fixtures]): Promise<ContractServer> {
  return isReal ? startKubernetes(crdFolders) : startEmbedded(crdFolders);
}

async function startEmbedded(crdFolders: string[]): Promise<ContractServer> {
  const { client, folder, close } = await startTestServer({ crdFolders });
  const onlyReal = (): never => {
    throw new Error('the embedded server knows no service accounts');
  };
  return { client, socketPath: join(folder, 'api.sock'), as: onlyReal, audited: onlyReal, close };
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

async function startKubernetes(crdFolders: string[]): Promise<ContractServer> {
  const binaries = await kubernetesBinaries((line) => process.stderr.write(`${line}\n`));
  const folder = mkdtempSync(join(tmpdir(), 'kuport-kubernetes-'));
  const [apiPort, etcdPort, etcdPeerPort] = [await freePort(), await freePort(), await freePort()];
  const adminToken = randomBytes(16).toString('hex');
  const commands = await controlPlaneCommands({
    ...{ binaries, folder, names: [], apiPort, etcdPort, etcdPeerPort, adminToken },
    serviceCidr: '10.96.0.0/16',
  });
  for (const { path, text, mode } of commands.files) writeFileSync(path, text, { mode });
  const running: { name: string; child: ChildProcess; ended: Promise<void> }[] = [];
  const start = (name: string, [program = '', ...args]: string[]): void => {
    const log = openSync(join(folder, `${name}.log`), 'a');
    const child = spawn(program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    running.push({ name, child, ended: new Promise((resolve) => child.once('exit', () => resolve())) });
  };
  const close = async (): Promise<void> => {
    // etcd last: without it the server would wait for answers that do not come.
    for (const { child, ended } of running.reverse()) {
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true });
  };
  try {
    start('etcd', commands.etcd);
    start('kube-apiserver', commands.apiServer);
    const server = `https://127.0.0.1:${apiPort}`;
    const socketPath = join(folder, 'api.sock');
    const door = await openDoor({ socketPath, server, ca: commands.caFile, token: adminToken });
    const client = new ClusterClient({ socketPath });
    await waitFor(
      'kube-apiserver to be ready',
      async () => {
        const dead = running.find(({ child }) => child.exitCode !== null || child.signalCode !== null);
        if (dead !== undefined) throw new Error(`${dead.name} has ended`);
        await client.table('/readyz').catch((error: Error) => {
          // It answers "ok", which is no JSON.
          if (!/is not valid JSON/.test(error.message)) throw error;
        });
        return client.find('v1', 'Namespace', 'default');
      },
      { timeoutMs: 60_000, intervalMs: 100 },
    );
    if (commands.controllerManager !== null) start('kube-controller-manager', commands.controllerManager);
    for (const crdFolder of crdFolders) await applyDefinitions(client, crdFolder);
    return {
      client,
      socketPath,
      as: (token) => new ClusterClient({ server, caPem: commands.caPem, token }),
      audited: () =>
        readFileSync(commands.auditLog, 'utf8')
          .split('\n')
          .flatMap((line) => (line === '' ? [] : [JSON.parse(line)])),
      close: async () => {
        client.close();
        door.closeAllConnections();
        door.close();
        await close();
      },
    };
  } catch (error) {
    const logs = running.map(({ name }) => {
      const lines = readFileSync(join(folder, `${name}.log`), 'utf8')
        .trim()
        .split('\n');
      return `end of the log of ${name}:\n${lines
        .filter((line) => !/^I\d{4} /.test(line))
        .slice(-5)
        .join('\n')}`;
    });
    await close();
    throw new Error(`${(error as Error).message}\n${logs.join('\n')}`, { cause: error });
  }
}

async function applyDefinitions(client: ClusterClient, folder: string): Promise<void> {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
    for (const { object } of readManifests(join(folder, file))) {
      await client.apply(object);
      await established(client, object.metadata.name);
    }
  }
}

/** A definition is served a moment after it has been taken. */
export async function established(client: ClusterClient, name: string): Promise<void> {
  const isServed = (crd: { status?: { conditions?: { type: string; status: string }[] } } | undefined): boolean =>
    crd?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false;
  await client.waitFor('apiextensions.k8s.io/v1', 'CustomResourceDefinition', name, undefined, isServed, 10_000);
}
