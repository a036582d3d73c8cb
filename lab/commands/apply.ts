/** `lab apply -f`: objects into the lab's API; a Pod becomes a running pod. */
import type { V1Pod, V1Service } from '@kubernetes/client-node';
import type { ApiObject } from '../cluster/client.ts';
import { ManifestError, readManifestFile } from '../cluster/manifests.ts';
import type { Lab } from '../lab.ts';

/** @throws ManifestError naming file and line of what the API refuses */
export async function applyCommand(lab: Lab, file: string): Promise<number> {
  const manifests = readManifestFile(file);
  for (const { object, place } of manifests) {
    try {
      const did = await applyObject(lab, object);
      process.stdout.write(`${object.kind} ${object.metadata?.name} ${did}\n`);
    } catch (error) {
      throw new ManifestError(`${place}: ${object.kind} ${object.metadata?.name}: ${(error as Error).message}`);
    }
  }
  lab.disconnect();
  return 0;
}

/** Pods run and Services get endpoints, as a cluster's controllers would see to; the rest is only stored. */
function applyObject(lab: Lab, object: ApiObject): Promise<'created' | 'configured'> {
  if (object.apiVersion === 'v1' && object.kind === 'Pod') return lab.workload.applyPod(object as V1Pod);
  if (object.apiVersion === 'v1' && object.kind === 'Service') return lab.workload.applyService(object as V1Service);
  return lab.cluster.apply(object);
}
