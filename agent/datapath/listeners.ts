/** Ports the node itself listens on, each with a role: no mapping may take one of them. */
import { readFile } from 'node:fs/promises';
import type { HostFacts, Protocol } from '../plan/node-plan.ts';
import { run } from './command.ts';
import type { IpLink } from './ip-json.ts';
import { devicePrefix } from './observe.ts';

type Listener = HostFacts['listeners'][number];

/**
 * Roles by well-known port. Which process holds a socket is not asked: the agent shares the host's network, not its
 * process list.
 */
const wellKnownRoles: Record<string, string> = {
  'TCP/22': 'sshd',
  'TCP/53': 'DNS server',
  'UDP/53': 'DNS server',
  'UDP/67': 'DHCP server',
  'UDP/68': 'DHCP client',
  'UDP/123': 'time server',
  'TCP/179': 'BGP',
  'TCP/2379': 'etcd',
  'TCP/2380': 'etcd',
  'TCP/4240': 'Cilium health',
  'TCP/4244': 'Hubble',
  'UDP/4789': 'vxlan',
  'TCP/6443': 'Kubernetes API server',
  'TCP/7445': 'KubePrism',
  'UDP/8472': 'vxlan',
  'TCP/10250': 'kubelet',
  'TCP/10248': 'kubelet',
  'TCP/10256': 'kube-proxy',
  'TCP/10257': 'kube-controller-manager',
  'TCP/10259': 'kube-scheduler',
  'TCP/50000': 'Talos apid',
  'TCP/50001': 'Talos trustd',
  'UDP/51820': 'WireGuard',
};

interface Socket {
  protocol: Protocol;
  /** IPv4 address; null: every address. */
  address: string | null;
  port: number;
}

const listenState = '0A';
const unconnectedState = '07';

/** `0100007F` -> 127.0.0.1; undefined for an IPv6 address that no IPv4 packet reaches. */
function hexAddress(hex: string): string | null | undefined {
  if (/^0+$/.test(hex)) return null;
  const isMapped = hex.startsWith('0000000000000000FFFF0000');
  if (hex.length > 8 && !isMapped) return undefined;
  const octets = hex.slice(-8).match(/../g)?.reverse() ?? [];
  return octets.map((octet) => Number.parseInt(octet, 16)).join('.');
}

/** @param text a file of /proc/net: tcp, tcp6, udp or udp6 */
export function parseSockets(text: string, protocol: Protocol): Socket[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', , state] = line.trim().split(/\s+/);
      if (state !== (protocol === 'TCP' ? listenState : unconnectedState)) return [];
      const [hex = '', port = ''] = local.split(':');
      const address = hexAddress(hex);
      return address === undefined ? [] : [{ protocol, address, port: Number.parseInt(port, 16) }];
    });
}

async function readOptional(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return ''; // No IPv6 here: nothing listens on it.
  }
}

/** Listen port -> interface, of the kernel's and of user space's alike. Empty where `wg` is not installed. */
async function wireguardPorts(): Promise<Map<number, string>> {
  try {
    const text = await run('wg', ['show', 'all', 'listen-port'], { timeoutMs: 2000 });
    return new Map(
      text
        .trim()
        .split('\n')
        .flatMap((line): [number, string][] => {
          const [name = '', port = ''] = line.split(/\s+/);
          return Number(port) > 0 ? [[Number(port), name]] : [];
        }),
    );
  } catch {
    return new Map();
  }
}

/** @returns sorted by port, then protocol, then address, each once */
export async function readListeners(links: readonly IpLink[]): Promise<Listener[]> {
  const [tcp, tcp6, udp, udp6, range, wireguard] = await Promise.all([
    readOptional('/proc/net/tcp'),
    readOptional('/proc/net/tcp6'),
    readOptional('/proc/net/udp'),
    readOptional('/proc/net/udp6'),
    readOptional('/proc/sys/net/ipv4/ip_local_port_range'),
    wireguardPorts(),
  ]);
  const firstEphemeral = Number(range.split(/\s+/)[0] || 32768);
  const vxlanPorts = new Map(
    links.flatMap((link): [number, string][] => {
      const port = link.linkinfo?.info_kind === 'vxlan' ? link.linkinfo.info_data?.port : undefined;
      return port === undefined ? [] : [[port, link.ifname.startsWith(devicePrefix) ? 'kuport links' : 'vxlan']];
    }),
  );
  const role = ({ protocol, port }: Socket): string => {
    const known = wellKnownRoles[`${protocol}/${port}`];
    if (protocol === 'UDP') {
      const device = wireguard.get(port);
      if (device !== undefined) return `WireGuard (${device})`;
      const vxlan = vxlanPorts.get(port);
      if (vxlan !== undefined) return vxlan;
    }
    return known ?? 'a service of the node';
  };
  const sockets = [
    ...parseSockets(`${tcp}`, 'TCP'),
    ...parseSockets(`${tcp6}`, 'TCP'),
    ...[...parseSockets(udp, 'UDP'), ...parseSockets(udp6, 'UDP')].filter(
      // In the ephemeral range a socket is some client's own for a moment; these are known to stay.
      ({ port }) =>
        port < firstEphemeral || wireguard.has(port) || vxlanPorts.has(port) || `UDP/${port}` in wellKnownRoles,
    ),
  ];
  // A port bound by every address needs no second row for one of them.
  const everywhere = new Set(
    sockets.filter((each) => each.address === null).map((each) => `${each.protocol}/${each.port}`),
  );
  const listeners = new Map(
    sockets
      .filter((each) => each.address === null || !everywhere.has(`${each.protocol}/${each.port}`))
      .map((each) => [
        `${String(each.port).padStart(5, '0')}/${each.protocol}/${each.address ?? ''}`,
        { protocol: each.protocol, port: each.port, address: each.address, role: role(each) },
      ]),
  );
  return [...listeners].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, listener]) => listener);
}
