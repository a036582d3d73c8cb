/** What Cilium's own configuration says, in the keys of ConfigMap kube-system/cilium-config. */

type CniConfig = Readonly<Record<string, string>>;

/** All keys that are read here: the rest of the ConfigMap need not be kept. */
export const cniConfigKeys = [
  'enable-bpf-masquerade',
  'enable-host-legacy-routing',
  'enable-ipv4-masquerade',
  'enable-ipv6-masquerade',
  'kube-proxy-replacement',
  'node-port-range',
  'tunnel-port',
  'tunnel-protocol',
] as const;

/** Ports that tunnels have unless the configuration names another. */
const defaultTunnelPorts: Readonly<Record<string, number>> = { vxlan: 8472, geneve: 6081 };

/** UDP port of the CNI's own tunnel; Cilium's default where nothing is known. */
export function cniTunnelPort(config: CniConfig = {}): number {
  const { 'tunnel-port': port = '', 'tunnel-protocol': protocol = 'vxlan' } = config;
  // "0" stands for the default.
  return Number(port) || (defaultTunnelPorts[protocol] ?? 8472);
}

/**
 * Why replies of pods never pass the host's netfilter, or null where they do. With BPF host routing a request is
 * translated and counted, its reply leaves bare and the conntrack entry stays UNREPLIED (measured on Cilium 1.19).
 */
export function hostBypass(config: CniConfig = {}): { why: string; cure: string } | null {
  const is = (key: string, value: 'true' | 'false'): boolean => config[key] === value;
  const masqueradesInBpf =
    is('enable-bpf-masquerade', 'true') ||
    (is('enable-ipv4-masquerade', 'false') && is('enable-ipv6-masquerade', 'false'));
  const bypasses =
    is('kube-proxy-replacement', 'true') && masqueradesInBpf && !is('enable-host-legacy-routing', 'true');
  if (!bypasses) return null;
  return {
    why: 'Cilium routes past the network stack of the host (BPF host routing), where replies cannot be sent back',
    cure: 'set enable-host-legacy-routing: "true" in ConfigMap kube-system/cilium-config and restart its agents',
  };
}

/** Whether Cilium answers for Services on the nodes' own addresses, in eBPF and before netfilter. */
export function replacesKubeProxy(config: CniConfig = {}): boolean {
  return config['kube-proxy-replacement'] === 'true';
}

/** Ports that are given to Services of type NodePort; the API server's default where Cilium names no others. */
export function serviceNodePorts(config: CniConfig = {}): { first: number; last: number } {
  const [, first, last] = /^(\d+),(\d+)$/.exec(config['node-port-range'] ?? '') ?? [];
  return { first: Number(first ?? 30000), last: Number(last ?? 32767) };
}
