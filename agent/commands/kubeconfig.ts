/** Where the API server is and who one is there. */
import { KubeConfig } from '@kubernetes/client-node';
import { InputError } from './input-error.ts';

/**
 * @param file without one the pod's service account
 * @throws InputError when there is no usable configuration
 */
export function loadKubeConfig(file: string | undefined): KubeConfig {
  const kubeConfig = new KubeConfig();
  if (file === undefined) {
    if (process.env.KUBERNETES_SERVICE_HOST === undefined)
      throw new InputError('not in a pod (no KUBERNETES_SERVICE_HOST): give a kubeconfig with --kubeconfig FILE');
    kubeConfig.loadFromCluster();
  } else {
    try {
      kubeConfig.loadFromFile(file);
    } catch (error) {
      throw new InputError(`--kubeconfig ${file}: ${(error as Error).message}`);
    }
  }
  if (kubeConfig.getCurrentCluster() === null)
    throw new InputError(`--kubeconfig ${file}: current-context "${kubeConfig.getCurrentContext()}" names no cluster`);
  return kubeConfig;
}
