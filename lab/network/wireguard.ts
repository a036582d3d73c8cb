/** Brings up WireGuard on a host: the kernel's where it has it, else wireguard-go. */
import type { Host } from '../backends/host.ts';

export type WireguardKind = 'kernel' | 'wireguard-go';

/** Member of the mesh -> which WireGuard it has. */
export type MeshKinds = Readonly<Record<string, WireguardKind>>;

/** For a person: one name, or both where machines and namespaces mix. */
export function describeMesh(kinds: MeshKinds): string {
  return [...new Set(Object.values(kinds))].join(' and ');
}

/** wireguard-go's control socket appears 10-30 ms after its start. */
const socketLimitMs = 20_000;

/** One shell, since each process costs 2-3 ms. */
const awaitSocket = `
tries=0
until [ -S "/run/wireguard/$1.sock" ]; do
  tries=$((tries + 1)); [ $tries -gt ${socketLimitMs / 10} ] && { echo "no /run/wireguard/$1.sock after ${socketLimitMs / 1000} s" >&2; exit 1; }
  sleep 0.01
done
ip -batch -`;

/**
 * Makes the interface and gives it its addresses; it has no key and no peers yet.
 * @param device name of the interface
 * @param interfaceLines `ip -batch` lines run once the interface exists
 * @returns which WireGuard the host has: the kernel's where its kernel makes the interface
 */
export async function startWireguard(
  host: Host,
  device: string,
  interfaceLines: readonly string[],
): Promise<WireguardKind> {
  const input = `${interfaceLines.join('\n')}\n`;
  const made = await host.exec(['ip', 'link', 'add', device, 'type', 'wireguard'], { allowFailure: true });
  if (made.code === 0) {
    await host.exec(['ip', '-batch', '-'], { input });
    return 'kernel';
  }
  // Verbose logging names every packet that WireGuard drops for its source address: the evidence of a missing link.
  const daemon = await host.spawn('wireguard-go', ['wireguard-go', '-f', device], { env: { LOG_LEVEL: 'verbose' } });
  const answering = host.exec(['sh', '-c', awaitSocket, 'wireguard', device], { input, timeoutMs: 2 * socketLimitMs });
  const isReady = await Promise.race([answering.then(() => true), daemon.ended.then(() => false)]);
  if (isReady) return 'wireguard-go';
  answering.catch(() => undefined);
  const said = (await host.readLog('wireguard-go', 2000)).trim().split('\n').slice(-3).join('\n');
  throw new Error(`${host.name}: wireguard-go makes no interface ${device}; it said\n${said}`);
}

/**
 * Gives the interface its key and peers, which it greets at once.
 * @param configuration input of `wg setconf`
 */
export async function configureWireguard(host: Host, device: string, configuration: string): Promise<void> {
  // Through cat: Node's pipes are sockets, and /dev/stdin cannot be opened anew on a socket.
  await host.exec(['sh', '-c', 'cat | wg setconf "$1" /dev/stdin', 'wireguard', device], { input: configuration });
}
