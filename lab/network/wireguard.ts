/** Brings up WireGuard on a host: the kernel's where it has it, else wireguard-go. */
import type { Host } from '../backends/host.ts';

export type WireguardKind = 'kernel' | 'wireguard-go';

/**
 * Which WireGuard this lab can have, found by trying to make a kernel interface on a host that has none.
 * @throws HostCommandError when there is neither.
 */
export async function availableWireguard(host: Host): Promise<WireguardKind> {
  const made = await host.exec(['ip', 'link', 'add', 'wg-probe', 'type', 'wireguard'], { allowFailure: true });
  if (made.code !== 0) return 'wireguard-go';
  await host.exec(['ip', 'link', 'del', 'wg-probe']);
  return 'kernel';
}

/**
 * Waits for wireguard-go's control socket (it takes 10-30 ms), loads the configuration and runs the `ip -batch` lines.
 * One shell, since each process costs 2-3 ms. The configuration holds
 * the private key and so comes by standard input, not as an argument that any process list shows; through cat, since
 * Node's pipes are sockets and /dev/stdin cannot be opened anew on a socket.
 */
const configure = `
tries=0
until [ "$1" = kernel ] || [ -S "/run/wireguard/$2.sock" ]; do
  tries=$((tries + 1)); [ $tries -gt 500 ] && { echo "no /run/wireguard/$2.sock after 5 s" >&2; exit 1; }
  sleep 0.01
done
cat | wg setconf "$2" /dev/stdin && printf %s "$3" | ip -batch -`;

/**
 * @param device name of the interface to make
 * @param configuration input of `wg setconf`
 * @param interfaceLines `ip -batch` lines run once the interface exists; they leave it down
 */
export async function startWireguard(
  host: Host,
  kind: WireguardKind,
  device: string,
  configuration: string,
  interfaceLines: readonly string[],
): Promise<void> {
  if (kind === 'kernel') await host.exec(['ip', 'link', 'add', device, 'type', 'wireguard']);
  // Verbose logging names every packet that WireGuard drops for its source address: the evidence of a missing link.
  else await host.spawn('wireguard-go', ['wireguard-go', '-f', device], { env: { LOG_LEVEL: 'verbose' } });
  await host.exec(['sh', '-c', configure, 'wireguard', kind, device, `${interfaceLines.join('\n')}\n`], {
    input: configuration,
  });
}
