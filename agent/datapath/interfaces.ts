/** The host's interfaces as `ip -json -details address` tells them. */
import { run } from './command.ts';

export interface HostInterface {
  name: string;
  up: boolean;
  /** Bytes. */
  mtu: number;
  /** IPv4 addresses without prefix length. */
  addresses: string[];
  kind: string | undefined;
  /** Settings of a vxlan device. */
  vxlan: { vni: number; local: string; remote: string; port: number } | undefined;
}

interface AddressJson {
  ifname: string;
  flags: string[];
  mtu: number;
  addr_info?: { family: string; local?: string }[];
  linkinfo?: { info_kind?: string; info_data?: { id?: number; local?: string; remote?: string; port?: number } };
}

export async function readInterfaces(): Promise<HostInterface[]> {
  const text = await run(['ip', '-json', '-details', 'address', 'show']);
  return (JSON.parse(text) as AddressJson[])
    .filter((each) => each.ifname !== undefined)
    .map(({ ifname, flags, mtu, addr_info = [], linkinfo }) => {
      const data = linkinfo?.info_data;
      return {
        name: ifname,
        up: flags.includes('UP'),
        mtu,
        addresses: addr_info.flatMap((each) =>
          each.family === 'inet' && each.local !== undefined ? [each.local] : [],
        ),
        kind: linkinfo?.info_kind,
        vxlan:
          linkinfo?.info_kind === 'vxlan'
            ? { vni: data?.id ?? 0, local: data?.local ?? '', remote: data?.remote ?? '', port: data?.port ?? 0 }
            : undefined,
      };
    });
}
