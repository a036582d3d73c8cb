/** Cilium's and kube-proxy's own iptables rules, with one node's addresses put in. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../project.ts';
import type { CniNode } from './cni-node.ts';

/** Addresses of the node that the reference state was taken from. */
export const referenceNode = { podCidr: '10.244.1.0/24', routerAddress: '10.244.1.202', clusterCidr: '10.244.0.0/16' };

export type ReferenceConfiguration = 'minimal' | 'default-kube-proxy' | 'kube-proxy-replacement' | 'bpf-masquerade';

export function referenceFile(configuration: ReferenceConfiguration, file: string): string {
  return readFileSync(join(projectRoot, 'lab', 'cni', 'reference', configuration, file), 'utf8');
}

/** The node's address in place of the reference node's, longest first so that none is part of another. */
export function withNodeAddresses(text: string, node: CniNode, clusterCidr: string): string {
  return text
    .replaceAll(referenceNode.podCidr, node.podCidr)
    .replaceAll(referenceNode.routerAddress, node.routerAddress)
    .replaceAll(referenceNode.clusterCidr, clusterCidr);
}

/**
 * Lines of the reference that the lab leaves out, and why. Everything else is applied as it is, in its order.
 */
export const leftOut: readonly { line: RegExp; reason: string }[] = [
  { line: /KUBE-(SVC|SEP|EXT)-/, reason: "the reference cluster's own Services" },
  { line: /10\.96\.\d+\.\d+\/32|--dport 30080/, reason: "the reference cluster's own Services" },
];

/** Parts of lines that are taken out, and why. */
export const cutOut: readonly { part: RegExp; reason: string }[] = [
  { part: /-m nfacct --nfacct-name {2}\w+ /g, reason: 'names an accounting object that kube-proxy makes by netlink' },
];

export interface IptablesOptions {
  /** Keep kube-proxy's chains and the jumps to them. */
  kubeProxy: boolean;
}

/** Rules and chains of the Helm-default configuration as `iptables-restore` takes them. */
export function referenceRules(node: CniNode, clusterCidr: string, { kubeProxy }: IptablesOptions): string {
  const lines = referenceFile('default-kube-proxy', 'iptables-save.txt')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .filter((line) => !leftOut.some((each) => each.line.test(line)))
    .filter((line) => kubeProxy || !line.includes('KUBE-'))
    .map((line) => cutOut.reduce((text, { part }) => text.replaceAll(part, ''), line))
    // Chain counters of the reference node mean nothing here.
    .map((line) => line.replace(/ \[\d+:\d+\]$/, ' [0:0]'));
  return withNodeAddresses(`${lines.join('\n')}\n`, node, clusterCidr);
}

/** The rule of a CNI that rewrites everything which enters the pod network, first in Cilium's chain. */
export function masqueradeIntoPodNetworkRule(node: CniNode): string[] {
  return [
    ...['CILIUM_POST_nat', '!', '-s', node.podCidr, '-o', 'cilium_host', '-m', 'comment', '--comment'],
    ...['lab: masquerade into the pod network', '-j', 'SNAT', '--to-source', node.routerAddress],
  ];
}

export function ciliumIptables(node: CniNode, clusterCidr: string, options: IptablesOptions): string {
  const rules = referenceRules(node, clusterCidr, options);
  if (!node.switches.masqueradeIntoPodNetwork) return rules;
  const words = masqueradeIntoPodNetworkRule(node).map((word) => (word.includes(' ') ? `"${word}"` : word));
  const [chain, ...match] = words;
  return `${rules}*nat\n-I ${chain} 1 ${match.join(' ')}\nCOMMIT\n`;
}
