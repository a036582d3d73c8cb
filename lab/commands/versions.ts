/** What a run was made with: part of every report. */
import type { Host } from '../backends/host.ts';
import type { Versions } from '../evidence/results.ts';
import type { WireguardKind } from '../network/wireguard.ts';

export async function readVersions(host: Host, wireguard: WireguardKind): Promise<Versions> {
  const script = `uname -r; nft --version; ip -V; ${wireguard === 'kernel' ? 'cat /sys/module/wireguard/version' : 'wireguard-go --version | head -1'}`;
  const { stdout } = await host.exec(['sh', '-c', script], { allowFailure: true });
  const [kernel = '', nft = '', iproute2 = '', version = ''] = stdout.split('\n');
  const number = (text: string): string => /\d[\w.-]*/.exec(text)?.[0] ?? text;
  return {
    kernel,
    nft: number(nft),
    iproute2: number(iproute2.replace('iproute2-', '')),
    wireguard: { kind: wireguard, version: number(version) },
    node: process.versions.node,
  };
}
