/** `lab apply -f`: objects into the lab's API; a Pod becomes a running pod, a Service gets endpoints. */
import type { V1Pod, V1Service } from '@kubernetes/client-node';
import { type Manifest, readManifests } from '../cluster/manifests.ts';
import type { Lab } from '../lab.ts';

/** A manifest that the API or the lab refuses, with its place. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
}

/** @throws ManifestError naming file and line */
export async function applyCommand(lab: Lab, file: string): Promise<number> {
  for (const manifest of readManifestFile(file)) {
    const { object, line } = manifest;
    try {
      await applyObject(lab, manifest);
      process.stdout.write(`${object.kind} ${object.metadata.name} applied\n`);
    } catch (error) {
      throw new ManifestError(`${file}:${line}: ${object.kind} ${object.metadata.name}: ${(error as Error).message}`);
    }
  }
  lab.disconnect();
  return 0;
}

function readManifestFile(file: string): Manifest[] {
  try {
    const manifests = readManifests(file === '-' ? '/dev/stdin' : file);
    if (manifests.length === 0) throw new Error(`${file}: holds no object`);
    return manifests;
  } catch (error) {
    throw new ManifestError((error as Error).message);
  }
}

/** Pods run and Services get endpoints, as a cluster's controllers would see to; the rest is only stored. */
async function applyObject(lab: Lab, { object }: Manifest): Promise<void> {
  if (object.apiVersion === 'v1' && object.kind === 'Pod') await lab.workload.applyPod(object as unknown as V1Pod);
  else if (object.apiVersion === 'v1' && object.kind === 'Service')
    await lab.workload.applyService(object as unknown as V1Service);
  else await lab.cluster.apply(object);
}
