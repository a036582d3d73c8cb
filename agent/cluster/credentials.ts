/** Where the API server is and who we are there. */
import { KubeConfig } from '@kubernetes/client-node';

/**
 * @param path of a kubeconfig; without one the pod's ServiceAccount is used
 * @throws Error naming the file when it cannot be read
 */
export function loadCredentials(path: string | undefined): KubeConfig {
  const config = new KubeConfig();
  if (path === undefined) {
    config.loadFromCluster();
    return config;
  }
  try {
    config.loadFromFile(path);
  } catch (error) {
    throw new Error(`cannot use kubeconfig ${path}: ${(error as Error).message}`);
  }
  return config;
}
