/** Ports on which the node itself listens: what a mapping must not take away from it. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import type { HostFacts, Protocol } from '../plan/node-plan.ts';
import type { HostInterface } from './interfaces.ts';

type Listener = HostFacts['listeners'][number];

/** State of a listening TCP socket, and of a UDP socket that is not connected, in /proc/net. */
const states: Record<Protocol, string> = { TCP: '0A', UDP: '07' };

/** Roles by well-known port, for sockets whose process cannot be seen from here. */
const knownRoles: Record<string, string> = {
  '22/TCP': 'SSH',
  '6443/TCP': 'Kubernetes API server',
  '10250/TCP': 'kubelet',
  '2379/TCP': 'etcd',
  '2380/TCP': 'etcd',
  '8472/UDP': "the CNI's tunnel",
};

/**
 * Listening TCP and unconnected UDP sockets below the ephemeral range, the kernel's own (WireGuard, vxlan) included:
 * those stand in /proc/net/udp like any other.
 */
export async function readListeners(interfaces: readonly HostInterface[]): Promise<Listener[]> {
  const [firstEphemeral = 32768] = (await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'))
    .split(/\s+/)
    .map(Number);
  const sockets = (
    await Promise.all(
      (['TCP', 'UDP'] as const).map(async (protocol) => {
        const text = await readFile(`/proc/net/${protocol.toLowerCase()}`, 'utf8');
        return text
          .split('\n')
          .slice(1)
          .flatMap((line) => parse(line, protocol));
      }),
    )
  ).flat();
  const below = sockets.filter(({ port }) => port > 0 && port < firstEphemeral);
  const processes = await processNames(new Set(below.map((each) => each.inode)));
  return below
    .filter(({ address }) => address === null || !address.startsWith('127.'))
    .map(({ protocol, port, address, inode }) => ({
      protocol,
      port,
      address,
      role: role(protocol, port, interfaces, processes.get(inode)),
    }));
}

interface SocketLine {
  protocol: Protocol;
  /** Null: every address. */
  address: string | null;
  port: number;
  inode: string;
}

function parse(line: string, protocol: Protocol): SocketLine[] {
  const [, local = '', , state, , , , , , inode = '0'] = line.trim().split(/\s+/);
  const [hexAddress = '', hexPort = ''] = local.split(':');
  if (state !== states[protocol] || hexAddress.length !== 8) return [];
  // Printed as a little-endian number.
  const octets = [6, 4, 2, 0].map((at) => Number.parseInt(hexAddress.slice(at, at + 2), 16));
  const address = octets.join('.');
  return [{ protocol, address: address === '0.0.0.0' ? null : address, port: Number.parseInt(hexPort, 16), inode }];
}

function role(
  protocol: Protocol,
  port: number,
  interfaces: readonly HostInterface[],
  process: string | undefined,
): string {
  const tunnel = interfaces.find((each) => protocol === 'UDP' && each.vxlan?.port === port);
  if (tunnel !== undefined) return tunnel.name.startsWith('kup-') ? "kuport's links" : `vxlan (${tunnel.name})`;
  return (
    knownRoles[`${port}/${protocol}`] ??
    process ??
    (protocol === 'UDP' ? 'a kernel or foreign socket' : 'a foreign socket')
  );
}

/** Names of the processes that hold these sockets, as far as this process may look. */
async function processNames(inodes: ReadonlySet<string>): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    pids.map(async (pid) => {
      try {
        const targets = await Promise.all(
          (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')),
        );
        const held = targets
          .flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [])
          .filter((inode) => inodes.has(inode));
        if (held.length === 0) return;
        const name = (await readFile(`/proc/${pid}/comm`, 'utf8')).trim();
        for (const inode of held) names.set(inode, name);
      } catch {
        // Gone, or another user's.
      }
    }),
  );
  return names;
}
