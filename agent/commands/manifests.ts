/** Manifests in place of a cluster. */
import { readFile } from 'node:fs/promises';
import type { V1ConfigMap, V1EndpointSlice, V1Namespace, V1Node, V1Service } from '@kubernetes/client-node';
import { LineCounter, parseAllDocuments } from 'yaml';
import type { PortMap, PortMapClass } from '../api/types.ts';
import type { ClusterSnapshot } from '../plan/snapshot.ts';
import { InputError } from './input-error.ts';

/** @throws InputError naming file and line */
export async function readManifests(files: readonly string[]): Promise<ClusterSnapshot> {
  const texts = await Promise.all(
    files.map(async (file) => ({
      file,
      text: await readFile(file, 'utf8').catch((error: Error) => {
        throw new InputError(`cannot read ${file}: ${error.message}`);
      }),
    })),
  );
  return readSnapshot(texts);
}

/** @throws InputError naming file and line */
export function readSnapshot(manifests: readonly { file: string; text: string }[]): ClusterSnapshot {
  const snapshot = emptySnapshot();
  for (const { file, text } of manifests) addManifests(snapshot, text, file);
  return snapshot;
}

type ListName = Exclude<keyof ClusterSnapshot, 'cniConfig'>;
type Collected = { -readonly [Key in ListName]: ClusterSnapshot[Key][number][] } & Pick<ClusterSnapshot, 'cniConfig'>;

function emptySnapshot(): Collected {
  return { nodes: [], namespaces: [], classes: [], portMaps: [], services: [], endpointSlices: [] };
}

/** Kind of a manifest -> where it goes. Others are passed over: a file may hold the workload too. */
function add(snapshot: Collected, object: { kind?: string }): void {
  if (object.kind === 'Node') snapshot.nodes.push(object as V1Node);
  else if (object.kind === 'Namespace') snapshot.namespaces.push(object as V1Namespace);
  else if (object.kind === 'Service') snapshot.services.push(object as V1Service);
  else if (object.kind === 'EndpointSlice') snapshot.endpointSlices.push(object as V1EndpointSlice);
  else if (object.kind === 'ConfigMap') addConfigMap(snapshot, object as V1ConfigMap);
  else if (object.kind === 'PortMap') snapshot.portMaps.push(object as PortMap);
  else if (object.kind === 'PortMapClass') snapshot.classes.push(object as PortMapClass);
}

function addConfigMap(snapshot: Collected, { metadata, data }: V1ConfigMap): void {
  if (metadata?.namespace === 'kube-system' && metadata.name === 'cilium-config') snapshot.cniConfig = data ?? {};
}

function addManifests(snapshot: Collected, text: string, file: string): void {
  const lines = new LineCounter();
  for (const document of parseAllDocuments(text, { lineCounter: lines })) {
    const [error] = document.errors;
    if (error !== undefined) throw new InputError(`${file}:${lines.linePos(error.pos[0]).line}: ${error.message}`);
    const object = document.toJS() as ({ kind?: string; items?: { kind?: string }[] } & object) | null;
    if (object === null) continue;
    if (typeof object !== 'object' || typeof object.kind !== 'string') {
      const { line } = lines.linePos(document.contents?.range?.[0] ?? document.range[0]);
      throw new InputError(`${file}:${line}: no Kubernetes object: it has no kind`);
    }
    if (object.kind === 'List') for (const item of object.items ?? []) add(snapshot, item);
    else add(snapshot, object);
  }
}
