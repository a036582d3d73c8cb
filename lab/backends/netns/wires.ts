/** The wires between hosts: a cable where two ends meet, a bridge at the gateway where more do. */
import { gatewayMac, type Segment } from '../../network/segments.ts';

export interface WireLines {
  /** `ip -batch` lines to run in the lab's own namespace. */
  ground: string[];
  /** Host -> `ip -batch` lines to run there, after those. */
  hosts: Map<string, string[]>;
}

/** The gateway's end of the wire to one host of its segment. */
export function gatewayDevice({ gateway, hosts }: Segment, host: string): string {
  const index = hosts.findIndex((each) => each.host === host);
  return hosts.length === 1 ? gateway.device : `${gateway.device}.${index}`;
}

/**
 * @param isMachine hosts whose wire is a tap that already lies at the gateway, since their hypervisor made it there
 */
export function wireLines(segments: readonly Segment[], isMachine: (host: string) => boolean): WireLines {
  const ground: string[] = [];
  const hosts = new Map<string, string[]>();
  const at = (host: string, ...lines: string[]): void => {
    hosts.set(host, [...(hosts.get(host) ?? []), ...lines]);
  };
  for (const segment of segments) {
    const { gateway } = segment;
    const [only, ...more] = segment.hosts;
    if (only === undefined) continue;
    if (more.length === 0) {
      if (isMachine(only.host)) at(gateway.host, `link set ${gateway.device} address ${gatewayMac}`);
      else {
        ground.push(
          `link add ${gateway.device} netns ${gateway.host} address ${gatewayMac} type veth peer name ${only.device} netns ${only.host}`,
        );
      }
      continue;
    }
    ground.push(`link add ${gateway.device} netns ${gateway.host} address ${gatewayMac} type bridge`);
    for (const host of segment.hosts) {
      const end = gatewayDevice(segment, host.host);
      if (!isMachine(host.host))
        ground.push(`link add ${host.device} netns ${host.host} type veth peer name ${end} netns ${gateway.host}`);
      at(gateway.host, `link set ${end} master ${gateway.device} up`);
    }
  }
  return { ground, hosts };
}
