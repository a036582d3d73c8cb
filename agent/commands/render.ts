/** `kuport-agent render`: what a node would hold for manifests, as text. Touches nothing. */
import { readFile } from 'node:fs/promises';
import type { V1ConfigMap, V1EndpointSlice, V1Namespace, V1Node, V1Service } from '@kubernetes/client-node';
import { LineCounter, parseAllDocuments } from 'yaml';
import type { PortMap, PortMapClass } from '../api/types.ts';
import { renderRouting } from '../datapath/routing.ts';
import { renderRuleset } from '../datapath/ruleset.ts';
import type { HostFacts, NodePlan } from '../plan/node-plan.ts';
import { plan } from '../plan/plan.ts';
import { type ClusterSnapshot, internalAddress } from '../plan/snapshot.ts';
import { InputError } from './input-error.ts';

export interface RenderOptions {
  filename: string[];
  node: string;
}

/** @throws InputError */
export async function runRender({ filename, node }: RenderOptions): Promise<void> {
  const texts = await Promise.all(
    filename.map(async (file) => ({
      file,
      text: await readFile(file, 'utf8').catch((error: Error) => {
        throw new InputError(`cannot read ${file}: ${error.message}`);
      }),
    })),
  );
  const { nft, ip } = renderNode(readSnapshot(texts), node);
  process.stdout.write(`# nft -f -\n${nft}\n# ip -batch -\n${ip}`);
}

/** @throws InputError naming file and line */
export function readSnapshot(manifests: readonly { file: string; text: string }[]): ClusterSnapshot {
  const snapshot = emptySnapshot();
  for (const { file, text } of manifests) addManifests(snapshot, text, file);
  return snapshot;
}

/** What `render` prints and golden files hold: the texts for `nft -f -` and `ip -batch -`, and the plan they come from. */
export function renderNode(snapshot: ClusterSnapshot, node: string): { nft: string; ip: string; plan: NodePlan } {
  const nodePlan = plan(snapshot, node, factsOf(snapshot, node), Date.now());
  return { nft: renderRuleset(nodePlan), ip: renderRouting(nodePlan), plan: nodePlan };
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

/** The host as the class's rows report it: there is none to ask. */
function factsOf(snapshot: ClusterSnapshot, node: string): HostFacts {
  const interfaces = new Map<string, HostFacts['interfaces'][number]>();
  const object = snapshot.nodes.find((each) => each.metadata?.name === node);
  const underlay = object === undefined ? undefined : internalAddress(object);
  for (const { spec, status } of snapshot.classes) {
    const row = status?.nodes?.find((each) => each.name === node);
    for (const name of spec.nodes[node]?.interfaces ?? []) {
      const address = row?.addresses?.[name];
      interfaces.set(name, {
        name,
        mtu: address !== undefined && address === underlay ? (row?.underlayMTU ?? 1500) : 1500,
        addresses: address === undefined ? [] : [address],
      });
    }
  }
  const all = [...interfaces.values()];
  if (underlay !== undefined && !all.some((each) => each.addresses.includes(underlay))) {
    const mtu = snapshot.classes
      .flatMap((each) => each.status?.nodes ?? [])
      .find((row) => row.name === node && row.underlayMTU !== undefined)?.underlayMTU;
    all.push({ name: '(underlay)', mtu: mtu ?? 1500, addresses: [underlay] });
  }
  return { interfaces: all.sort((a, b) => (a.name < b.name ? -1 : 1)), linkMarks: {}, listeners: [] };
}
