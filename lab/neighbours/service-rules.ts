/** kube-proxy's iptables rules for Services, in its own words: chain names, comments and order are those of a real node. */
import { createHash } from 'node:crypto';

export interface ServiceEndpoint {
  address: string;
  port: number;
}

/** One port of a Service. */
export interface ServicePort {
  namespace: string;
  name: string;
  /** Name of the port; absent where the Service has a single unnamed one. */
  portName?: string;
  protocol: 'TCP' | 'UDP';
  clusterAddress: string;
  port: number;
  /** Port on every node's own addresses. */
  nodePort?: number;
  /** Ready endpoints; with none the port is refused. */
  endpoints: readonly ServiceEndpoint[];
}

/** Rules by the chain they go into; the caller owns the chains that stand on every node. */
export interface ServiceRules {
  /** Chains of the Services themselves, in table nat. */
  chains: string[];
  /** Rules in these chains. */
  rules: string[];
  /** Table nat, KUBE-SERVICES: cluster addresses. */
  services: string[];
  /** Table nat, KUBE-NODEPORTS. */
  nodePorts: string[];
  /** Table filter, KUBE-SERVICES and KUBE-EXTERNAL-SERVICES: ports without endpoints are refused. */
  refusals: string[];
}

export function serviceRules(services: readonly ServicePort[], clusterCidr: string): ServiceRules {
  const rules: ServiceRules = { chains: [], rules: [], services: [], nodePorts: [], refusals: [] };
  for (const service of services) {
    if (service.endpoints.length === 0) refuse(rules, service);
    else deliver(rules, service, clusterCidr);
  }
  return rules;
}

/** kube-proxy's name of a chain: the first 16 letters of the hash in base 32. */
function chain(kind: 'SVC' | 'SEP' | 'EXT', ...parts: readonly string[]): string {
  return `KUBE-${kind}-${base32(createHash('sha256').update(parts.join('')).digest()).slice(0, 16)}`;
}

/** RFC 4648, without padding. */
function base32(bytes: Uint8Array): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => alphabet[Number.parseInt(five, 2)]).join('');
}

function deliver(rules: ServiceRules, service: ServicePort, clusterCidr: string): void {
  const { namespace, name, portName, clusterAddress, port, nodePort, endpoints } = service;
  const protocol = service.protocol.toLowerCase();
  const title = `${namespace}/${name}${portName === undefined ? '' : `:${portName}`}`;
  const svc = chain('SVC', title, protocol);
  const frontend = `-d ${clusterAddress}/32 -p ${protocol} -m comment --comment "${title} cluster IP" -m ${protocol} --dport ${port}`;
  rules.chains.push(svc);
  rules.services.push(`-A KUBE-SERVICES ${frontend} -j ${svc}`);
  if (nodePort !== undefined) {
    const ext = chain('EXT', title, protocol);
    const match = `-p ${protocol} -m comment --comment "${title}" -m ${protocol} --dport ${nodePort} -j ${ext}`;
    rules.chains.push(ext);
    rules.nodePorts.push(`-A KUBE-NODEPORTS -d 127.0.0.0/8 ${match}`, `-A KUBE-NODEPORTS ${match}`);
    rules.rules.push(
      `-A ${ext} -m comment --comment "masquerade traffic for ${title} external destinations" -j KUBE-MARK-MASQ`,
      `-A ${ext} -j ${svc}`,
    );
  }
  rules.rules.push(`-A ${svc} ! -s ${clusterCidr} ${frontend} -j KUBE-MARK-MASQ`);
  endpoints.forEach((endpoint, index) => {
    const at = `${endpoint.address}:${endpoint.port}`;
    const sep = chain('SEP', title, protocol, at);
    // Each of n endpoints is taken with equal chance: the first in 1 of n, the next in 1 of the n - 1 left, the last always.
    const left = endpoints.length - index;
    const chance = left === 1 ? '' : ` -m statistic --mode random --probability ${(1 / left).toFixed(11)}`;
    rules.chains.push(sep);
    rules.rules.push(
      `-A ${svc} -m comment --comment "${title} -> ${at}"${chance} -j ${sep}`,
      `-A ${sep} -s ${endpoint.address}/32 -m comment --comment "${title}" -j KUBE-MARK-MASQ`,
      `-A ${sep} -p ${protocol} -m comment --comment "${title}" -m ${protocol} -j DNAT --to-destination ${at}`,
    );
  });
}

function refuse(rules: ServiceRules, service: ServicePort): void {
  const { namespace, name, portName, clusterAddress, port, nodePort } = service;
  const protocol = service.protocol.toLowerCase();
  const title = `${namespace}/${name}${portName === undefined ? '' : `:${portName}`}`;
  const comment = `-m comment --comment "${title} has no endpoints"`;
  const reject = '-j REJECT --reject-with icmp-port-unreachable';
  rules.refusals.push(
    `-A KUBE-SERVICES -d ${clusterAddress}/32 -p ${protocol} ${comment} -m ${protocol} --dport ${port} ${reject}`,
  );
  if (nodePort === undefined) return;
  rules.refusals.push(
    `-A KUBE-EXTERNAL-SERVICES -p ${protocol} ${comment} -m addrtype --dst-type LOCAL -m ${protocol} --dport ${nodePort} ${reject}`,
  );
}
