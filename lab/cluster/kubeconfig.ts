/** A kubeconfig for one user of one cluster, with everything inline: it works wherever the file is put. */
import { stringify } from 'yaml';

export interface KubeconfigOptions {
  /** Such as https://100.64.93.142:6443. */
  server: string;
  caPem: string;
  user: string;
  token: string;
  /** Name of cluster and context. Default `kuport-lab`. */
  cluster?: string;
  /** Namespace that commands without `-n` use. */
  namespace?: string;
}

export function renderKubeconfig(options: KubeconfigOptions): string {
  const { server, caPem, user, token, cluster = 'kuport-lab', namespace } = options;
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: cluster, cluster: { server, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: cluster, context: { cluster, user, ...(namespace === undefined ? {} : { namespace }) } }],
    'current-context': cluster,
  });
}
