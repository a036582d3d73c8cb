/** What a real Cilium node holds (see reference/README.md), with one lab node's addresses put in. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../project.ts';
import type { CniNode } from './cni-node.ts';
import { changes } from './differences.ts';
import { type IptablesTable, parseIptables } from './iptables-text.ts';

/** Addresses of the node that the reference state was taken from. */
export const referenceNode = { podCidr: '10.244.1.0/24', routerAddress: '10.244.1.202', clusterCidr: '10.244.0.0/16' };

export type ReferenceConfiguration = 'minimal' | 'default-kube-proxy' | 'kube-proxy-replacement' | 'bpf-masquerade';

/** The configuration that the lab's nodes are held against: Helm's defaults, with kube-proxy. */
export const labConfiguration: ReferenceConfiguration = 'default-kube-proxy';

export type ReferenceFile =
  | 'iptables-save.txt'
  | 'ip-rule.txt'
  | 'ip-route-all.txt'
  | 'ip-addr.txt'
  | 'sysctl.txt'
  | 'bpf-attachments.txt';

export function referenceFile(configuration: ReferenceConfiguration, file: ReferenceFile): string {
  return readFileSync(join(projectRoot, 'lab', 'cni', 'reference', configuration, file), 'utf8');
}

/** The node's addresses in place of the reference node's, longest first so that none is part of another. */
export function withNodeAddresses(text: string, node: CniNode, clusterCidr: string): string {
  return text
    .replaceAll(referenceNode.podCidr, node.podCidr)
    .replaceAll(referenceNode.routerAddress, node.routerAddress)
    .replaceAll(referenceNode.clusterCidr, clusterCidr);
}

/** All iptables rules of the reference node, in the parts of lines that the lab changes already changed. */
export function referenceRules(): IptablesTable[] {
  const text = referenceFile(labConfiguration, 'iptables-save.txt');
  return parseIptables(changes.reduce((changed, { part, by }) => changed.replaceAll(part, by), text));
}
