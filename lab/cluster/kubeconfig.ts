/** kubeconfigs for the lab's API server. */
import { stringify } from 'yaml';

export interface KubeconfigRequest {
  server: string;
  /** PEM. */
  authority: string;
  user: string;
  token: string;
}

export function kubeconfig({ server, authority, user, token }: KubeconfigRequest): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'lab', cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') } },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: 'lab', context: { cluster: 'lab', user } }],
    'current-context': 'lab',
  });
}
