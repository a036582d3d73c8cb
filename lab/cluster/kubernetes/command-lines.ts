/** The files and command lines of etcd, kube-apiserver and kube-controller-manager, wherever they are to run. */
import { makeServerCertificates, makeSigningKey } from '../certificates.ts';
import { renderKubeconfig } from '../kubeconfig.ts';
import type { KubernetesBinaries } from './binaries.ts';

export interface ControlPlaneRequest {
  binaries: KubernetesBinaries;
  /** Where the files will lie and etcd keeps its data. */
  folder: string;
  /** Names and addresses that the certificate holds for, besides the usual ones. */
  names: readonly string[];
  apiPort: number;
  etcdPort: number;
  etcdPeerPort: number;
  /** The admin's; in group system:masters. */
  adminToken: string;
  /** Addresses of Services. */
  serviceCidr: string;
}

export interface ControlPlaneFile {
  path: string;
  text: string;
  mode: number;
}

export interface ControlPlaneCommands {
  files: ControlPlaneFile[];
  etcd: string[];
  apiServer: string[];
  /** Null where the machine has no such program. */
  controllerManager: string[] | null;
  caPem: string;
  /** Of the certificate authority. */
  caFile: string;
  /** One JSON line per request, with user, verb and resource. */
  auditLog: string;
}

/** Every request that has been answered, without bodies: who did what to which resource. */
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
  - level: None
`;

/** What a lab needs of the controllers: those that answer for what the lab itself does not play. */
const controllers = ['namespace-controller', 'garbage-collector-controller', 'clusterrole-aggregation-controller'];

export async function controlPlaneCommands(request: ControlPlaneRequest): Promise<ControlPlaneCommands> {
  const { binaries, folder, apiPort, etcdPort, etcdPeerPort, adminToken } = request;
  const usualNames = ['127.0.0.1', 'localhost', 'kubernetes', 'kubernetes.default.svc'];
  const certificates = await makeServerCertificates([...new Set([...request.names, ...usualNames])]);
  const signing = await makeSigningKey();
  const at = (file: string): string => `${folder}/${file}`;
  const adminKubeconfig = renderKubeconfig({
    server: `https://127.0.0.1:${apiPort}`,
    ...{ caPem: certificates.caPem, user: 'admin', token: adminToken },
  });
  const secret = (file: string, text: string): ControlPlaneFile => ({ path: at(file), text, mode: 0o600 });
  return {
    files: [
      secret('ca.crt', certificates.caPem),
      secret('apiserver.crt', certificates.serverCertPem),
      secret('apiserver.key', certificates.serverKeyPem),
      secret('service-accounts.key', signing.privatePem),
      secret('service-accounts.pub', signing.publicPem),
      secret('tokens.csv', `${adminToken},admin,admin,system:masters\n`),
      secret('admin.token', adminToken),
      secret('admin.kubeconfig', adminKubeconfig),
      secret('audit-policy.yaml', auditPolicy),
    ],
    etcd: [
      binaries.etcd,
      ...['--name', 'lab', '--data-dir', at('etcd'), '--log-level', 'warn'],
      ...['--listen-client-urls', `http://127.0.0.1:${etcdPort}`],
      ...['--advertise-client-urls', `http://127.0.0.1:${etcdPort}`],
      ...['--listen-peer-urls', `http://127.0.0.1:${etcdPeerPort}`],
      ...['--initial-advertise-peer-urls', `http://127.0.0.1:${etcdPeerPort}`],
      ...['--initial-cluster', `lab=http://127.0.0.1:${etcdPeerPort}`],
      // A lab that is gone needs no data that outlived it: writes then cost no disk.
      '--unsafe-no-fsync',
    ],
    apiServer: [
      binaries.apiServer,
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      `--secure-port=${apiPort}`,
      '--bind-address=0.0.0.0',
      `--tls-cert-file=${at('apiserver.crt')}`,
      `--tls-private-key-file=${at('apiserver.key')}`,
      `--token-auth-file=${at('tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-account-signing-key-file=${at('service-accounts.key')}`,
      `--service-account-key-file=${at('service-accounts.pub')}`,
      `--service-cluster-ip-range=${request.serviceCidr}`,
      // Pods here are the lab's own: nobody makes them a default ServiceAccount, and they need none.
      '--disable-admission-plugins=ServiceAccount',
      '--endpoint-reconciler-type=none',
      `--audit-policy-file=${at('audit-policy.yaml')}`,
      `--audit-log-path=${at('audit.log')}`,
      '--profiling=false',
    ],
    controllerManager:
      binaries.controllerManager === null
        ? null
        : [
            binaries.controllerManager,
            `--kubeconfig=${at('admin.kubeconfig')}`,
            `--controllers=${controllers.join(',')}`,
            '--leader-elect=false',
            '--secure-port=0',
            // Labs delete namespaces all the time: each takes a look at every kind there is.
            '--kube-api-qps=200',
            '--kube-api-burst=400',
          ],
    caPem: certificates.caPem,
    caFile: at('ca.crt'),
    auditLog: at('audit.log'),
  };
}
