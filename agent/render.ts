/** From manifests to the exact texts a node's agent would apply: `kuport-agent render`, and the golden files. */
import { parseAllDocuments } from 'yaml';
import type { PortMap, PortMapClass } from './api/types.ts';
import { renderRouting } from './datapath/routing.ts';
import { renderRuleset } from './datapath/ruleset.ts';
import type { HostFacts, NodePlan } from './plan/node-plan.ts';
import { plan } from './plan/plan.ts';
import type { ClusterSnapshot } from './plan/snapshot.ts';

/** A host's own description among manifests: stands in for what an agent reads from its kernel. */
export interface HostFactsDocument {
  kind: 'HostFacts';
  metadata: { name: string };
  interfaces: HostFacts['interfaces'];
  linkMarks?: HostFacts['linkMarks'];
  listeners?: HostFacts['listeners'];
}

export interface Manifests {
  snapshot: ClusterSnapshot;
  hosts: Map<string, HostFacts>;
}

/** @throws Error naming the document and kind at fault */
export function readManifests(text: string): Manifests {
  const lists: Record<string, unknown[]> = {
    Node: [],
    Namespace: [],
    Service: [],
    EndpointSlice: [],
    PortMapClass: [],
    PortMap: [],
  };
  const hosts = new Map<string, HostFacts>();
  parseAllDocuments(text).forEach((document, index) => {
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`document ${index + 1}: ${error.message}`);
    const object = document.toJS() as { kind?: string } | null;
    if (object === null) return;
    if (object.kind === 'HostFacts') {
      const { metadata, interfaces, linkMarks = {}, listeners = [] } = object as HostFactsDocument;
      hosts.set(metadata.name, { interfaces, linkMarks, listeners });
      return;
    }
    const list = lists[object.kind ?? ''];
    if (list === undefined)
      throw new Error(
        `document ${index + 1}: kind "${object.kind}" plays no part in a plan: ${Object.keys(lists).join(', ')}, HostFacts do`,
      );
    list.push(object);
  });
  return {
    hosts,
    snapshot: {
      nodes: lists.Node as ClusterSnapshot['nodes'],
      namespaces: lists.Namespace as ClusterSnapshot['namespaces'],
      services: lists.Service as ClusterSnapshot['services'],
      endpointSlices: lists.EndpointSlice as ClusterSnapshot['endpointSlices'],
      classes: lists.PortMapClass as PortMapClass[],
      portMaps: lists.PortMap as PortMap[],
    },
  };
}

/** @throws Error when the manifests describe no such node */
export function planFor({ snapshot, hosts }: Manifests, node: string): NodePlan {
  if (!snapshot.nodes.some((each) => each.metadata?.name === node)) {
    const names = snapshot.nodes.map((each) => each.metadata?.name).join(', ');
    throw new Error(`the manifests have no Node "${node}": they have ${names || 'none'}`);
  }
  const host = hosts.get(node) ?? { interfaces: [], linkMarks: {}, listeners: [] };
  return plan(snapshot, node, host, Date.now());
}

export function render(manifests: string, node: string): { nft: string; ip: string } {
  const wanted = planFor(readManifests(manifests), node);
  return { nft: renderRuleset(wanted), ip: renderRouting(wanted) };
}
