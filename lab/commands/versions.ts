/** What a run was made with: part of every status and report. */
import type { Versions } from '../evidence/results.ts';
import type { Lab } from '../lab.ts';

export interface NodeVersions extends Omit<Versions, 'node'> {
  host: string;
}

const number = (text: string): string => /\d[\w.+-]*/.exec(text)?.[0] ?? text;

/** Kernel and tools of every node. */
export function readNodeVersions(lab: Lab): Promise<NodeVersions[]> {
  return Promise.all(
    lab.topology.nodes.map(async ({ name }) => {
      const kind = lab.state.wireguard[name] ?? 'wireguard-go';
      const ofWireguard = kind === 'kernel' ? 'cat /sys/module/wireguard/version' : 'wireguard-go --version | head -1';
      const script = `uname -r; nft --version; ip -V; ${ofWireguard}`;
      const { stdout } = await lab.host(name).exec(['sh', '-c', script], { allowFailure: true });
      const [kernel = '', nft = '', iproute2 = '', wireguard = ''] = stdout.split('\n');
      return {
        host: name,
        kernel,
        nft: number(nft),
        iproute2: number(iproute2.replace('iproute2-', '')),
        wireguard: `${kind} ${number(wireguard)}`,
      };
    }),
  );
}

/** The versions of all nodes in one: where they differ, each once. */
export function combineVersions(nodes: readonly NodeVersions[]): Versions {
  const all = (of: (versions: NodeVersions) => string): string => [...new Set(nodes.map(of))].join(', ');
  return {
    kernel: all(({ kernel }) => kernel),
    nft: all(({ nft }) => nft),
    iproute2: all(({ iproute2 }) => iproute2),
    wireguard: all(({ wireguard }) => wireguard),
    node: process.versions.node,
  };
}
