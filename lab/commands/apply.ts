/** `lab apply -f`: objects into the lab's API; a Pod becomes a running pod, a Service gets endpoints. */
import { readFileSync } from 'node:fs';
import type { V1Pod, V1Service } from '@kubernetes/client-node';
import { isNode, LineCounter, parseAllDocuments } from 'yaml';
import { ClusterError } from '../cluster/client.ts';
import { type Manifest, parseManifests } from '../cluster/manifests.ts';
import type { Lab } from '../lab.ts';
import { kuportApiVersion } from '../scenario/kuport-objects.ts';

/** A manifest that the API or the lab refuses, with its place. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
}

/**
 * Everything is checked before anything is applied, as far as it can be.
 * @throws ManifestError naming file, line, field and value
 */
export async function applyCommand(lab: Lab, file: string): Promise<number> {
  const text = readText(file);
  const manifests = parse(text, file);
  await refuseUnknownClasses(lab, manifests, text);
  for (const manifest of manifests) {
    const { object } = manifest;
    try {
      await applyObject(lab, manifest);
      process.stdout.write(`${object.kind} ${object.metadata.name} applied\n`);
    } catch (error) {
      const field = error instanceof ClusterError ? error.status?.details?.causes?.[0]?.field : undefined;
      throw new ManifestError(
        `${place(manifest, text, field?.split('.'))}: ${object.kind} ${object.metadata.name}: ${(error as Error).message}`,
      );
    }
  }
  lab.disconnect();
  return 0;
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new ManifestError(`cannot read manifests from ${file}: ${(error as Error).message}`);
  }
}

function parse(text: string, file: string): Manifest[] {
  try {
    const manifests = parseManifests(text, file);
    if (manifests.length === 0) throw new Error(`${file}: holds no object`);
    return manifests;
  } catch (error) {
    throw new ManifestError((error as Error).message);
  }
}

/** `file:line` of a field, or of the object's first line when the field is not there. */
function place({ file, line, document }: Manifest, text: string, field: readonly string[] = []): string {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines });
  const node = Array.isArray(documents) ? documents[document - 1]?.getIn(field, true) : undefined;
  const at = field.length > 0 && isNode(node) && node.range ? lines.linePos(node.range[0]).line : line;
  return `${file}:${at}`;
}

/** The API takes a mapping of any class; here a person waits for an answer, and a misspelt name is what it mostly is. */
async function refuseUnknownClasses(lab: Lab, manifests: readonly Manifest[], text: string): Promise<void> {
  const { items } = await lab.cluster.list<{ metadata: { name: string } }>(kuportApiVersion, 'PortMapClass');
  const own = manifests
    .filter(({ object }) => object.kind === 'PortMapClass')
    .map(({ object }) => object.metadata.name);
  const known = new Set([...items.map((each) => each.metadata.name), ...own]);
  for (const manifest of manifests) {
    const { object } = manifest;
    const className = (object.spec as { className?: unknown } | undefined)?.className;
    if (object.kind !== 'PortMap' || typeof className !== 'string' || known.has(className)) continue;
    const there = known.size === 0 ? 'there is none yet' : `there are ${[...known].sort().join(', ')}`;
    throw new ManifestError(
      `${place(manifest, text, ['spec', 'className'])}: PortMap ${object.metadata.name}: spec.className = "${className}": no PortMapClass has that name (${there}): correct it, or put the class before it in the file`,
    );
  }
}

/** Pods run and Services get endpoints, as a cluster's controllers would see to; the rest is only stored. */
async function applyObject(lab: Lab, { object }: Manifest): Promise<void> {
  if (object.apiVersion === 'v1' && object.kind === 'Pod') await lab.workload.applyPod(object as unknown as V1Pod);
  else if (object.apiVersion === 'v1' && object.kind === 'Service')
    await lab.workload.applyService(object as unknown as V1Service);
  else await lab.cluster.apply(object);
}
