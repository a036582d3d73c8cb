/** `kuport-agent render`: what a node would hold for manifests, as text. Touches nothing. */
import { renderRouting } from '../datapath/routing.ts';
import { renderRuleset } from '../datapath/ruleset.ts';
import type { HostFacts, NodePlan } from '../plan/node-plan.ts';
import { plan } from '../plan/plan.ts';
import { type ClusterSnapshot, internalAddress } from '../plan/snapshot.ts';
import { readManifests } from './manifests.ts';

export interface RenderOptions {
  filename: string[];
  node: string;
}

/** @throws InputError */
export async function runRender({ filename, node }: RenderOptions): Promise<void> {
  const { nft, ip } = renderNode(await readManifests(filename), node);
  process.stdout.write(`# nft -f -\n${nft}\n# ip -batch -\n${ip}`);
}

/** What `render` prints and golden files hold: the texts for `nft -f -` and `ip -batch -`, and the plan they come from. */
export function renderNode(snapshot: ClusterSnapshot, node: string): { nft: string; ip: string; plan: NodePlan } {
  const nodePlan = plan(snapshot, node, factsOf(snapshot, node), Date.now());
  return { nft: renderRuleset(nodePlan), ip: renderRouting(nodePlan), plan: nodePlan };
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
