/**
 * kube-proxy in iptables mode: the chains that stand on every node, taken from the reference node, and those of its
 * Services. What a Service does to a packet is real: translation by nat, the masquerade mark 0x4000, the refusal of a
 * port without endpoints.
 *
 * Not there: a pod that dials a cluster address. On a Cilium node its own program translates that before kube-proxy
 * sees it; here the answer would reach the pod untranslated.
 */
import { chainName, chainOf, formatIptables, type IptablesTable, selectLines } from '../cni/iptables-text.ts';
import { referenceRules } from '../cni/reference.ts';
import type { HostSetup } from '../network/host-setup.ts';
import { type ServicePort, serviceRules } from './service-rules.ts';

/** Chains whose rules follow the Services. */
const serviceChains: Readonly<Record<string, readonly string[]>> = {
  nat: ['KUBE-SERVICES', 'KUBE-NODEPORTS'],
  filter: ['KUBE-SERVICES', 'KUBE-EXTERNAL-SERVICES'],
};

const ofReferenceServices = /KUBE-(SVC|SEP|EXT)-/;

/** kube-proxy's chains and rules on the reference node but for its Services'. */
function standing(): IptablesTable[] {
  return selectLines(referenceRules(), (line) => line.includes('KUBE-') && !ofReferenceServices.test(line));
}

/** Rules of the kernel's own chains that lead into kube-proxy's, each with where it stands among them: 1, 2, ... */
function jumps(table: IptablesTable): { rule: string; position: number }[] {
  const seen = new Map<string, number>();
  return table.rules
    .filter((rule) => !chainOf(rule).startsWith('KUBE-'))
    .map((rule) => {
      const position = (seen.get(chainOf(rule)) ?? 0) + 1;
      seen.set(chainOf(rule), position);
      return { rule, position };
    });
}

/** Applied after the CNI's rules, before which it inserts its own, as kube-proxy does. */
export function kubeProxySetup(): HostSetup {
  const tables = standing().map((table) => ({
    ...table,
    rules: [
      ...jumps(table).map(({ rule, position }) => rule.replace(/^-A (\S+)/, `-I $1 ${position}`)),
      ...table.rules.filter((rule) => chainOf(rule).startsWith('KUBE-')),
    ],
  }));
  return { iptables: formatIptables(tables) };
}

/**
 * What kube-proxy applies when Services or their endpoints change: all of them anew.
 * @param previous Services of the last time, whose chains go when they are not in `services`
 */
export function kubeProxyServices(
  services: readonly ServicePort[],
  { clusterCidr, previous = [] }: { clusterCidr: string; previous?: readonly ServicePort[] },
): HostSetup {
  const wanted = serviceRules(services, clusterCidr);
  const gone = serviceRules(previous, clusterCidr).chains.filter((each) => !wanted.chains.includes(each));
  const fixed = (table: string): string[] =>
    standing()
      .filter(({ name }) => name === table)
      .flatMap(({ rules }) => rules.filter((rule) => serviceChains[table]?.includes(chainOf(rule))));
  const declare = (chains: readonly string[]): string[] => chains.map((name) => `:${name} -`);
  return {
    iptables: formatIptables([
      { name: 'filter', chains: declare(serviceChains.filter ?? []), rules: [...fixed('filter'), ...wanted.refusals] },
      {
        name: 'nat',
        // To declare a chain empties it, which lets go of the chains that are to be deleted.
        chains: declare([...(serviceChains.nat ?? []), ...wanted.chains, ...gone]),
        rules: [
          ...wanted.services,
          ...wanted.nodePorts,
          ...fixed('nat'),
          ...wanted.rules,
          ...gone.map((name) => `-X ${name}`),
        ],
      },
    ]),
  };
}

/** @param services those that kube-proxy knew last */
export function kubeProxyRemoval(services: readonly ServicePort[] = []): HostSetup {
  const own = serviceRules(services, '0.0.0.0/0').chains;
  const tables = standing().map((table) => {
    const chains = [...table.chains, ...(table.name === 'nat' ? own.map((name) => `:${name} -`) : [])];
    return {
      name: table.name,
      chains,
      rules: [
        ...jumps(table).map(({ rule }) => rule.replace(/^-A/, '-D')),
        ...chains.map((each) => `-X ${chainName(each)}`),
      ],
    };
  });
  return { iptables: formatIptables(tables) };
}
