/** Counters of the datapath, read from the kernel when somebody asks: they outlive the agent. */
import { run } from '../datapath/command.ts';
import type { Datapath } from '../datapath/datapath.ts';
import { tableName } from '../datapath/ruleset.ts';

export interface MappingTraffic {
  /** `namespace/name` of the PortMap. */
  portMap: string;
  interface: string;
  protocol: string;
  /** The port, or `first-last`. */
  port: string;
  packets: number;
  bytes: number;
}

export interface LinkTraffic {
  device: string;
  transmitErrors: number;
  /** On a link nothing but a routing loop counts here. */
  collisions: number;
}

export interface Traffic {
  /** Request packets by mapping and interface. */
  requests: MappingTraffic[];
  /** First packets of flows: connections. */
  connections: MappingTraffic[];
  links: LinkTraffic[];
}

/** nft writes a range as a prefix where it is one. */
type PortJson = number | { range: [number, number] } | { prefix: { addr: number; len: number } };

function portText(port: PortJson): string {
  if (typeof port === 'number') return String(port);
  if ('range' in port) return port.range.join('-');
  return `${port.prefix.addr}-${port.prefix.addr + 2 ** (16 - port.prefix.len) - 1}`;
}

interface Counted {
  elem?: {
    val: { concat: [string, string, PortJson] };
    comment?: string;
    counter?: { packets: number; bytes: number };
  };
}

interface SetJson {
  name: string;
  elem?: (Counted | [Counted, unknown])[];
}

function readSet(set: SetJson | undefined): MappingTraffic[] {
  return (set?.elem ?? []).flatMap((each) => {
    const { elem } = Array.isArray(each) ? each[0] : each;
    if (elem?.counter === undefined) return [];
    const [device, protocol, port] = elem.val.concat;
    return [
      {
        portMap: elem.comment ?? '',
        interface: device,
        protocol: protocol.toUpperCase(),
        port: portText(port),
        ...elem.counter,
      },
    ];
  });
}

/** Zero everywhere on a node that holds nothing. */
export async function readTraffic(): Promise<Traffic> {
  const [table, links] = await Promise.all([
    run('nft', ['--json', 'list', 'table', 'ip', tableName]).catch(() => '{"nftables":[]}'),
    run('ip', ['-json', '-statistics', 'link', 'show', 'type', 'vxlan']),
  ]);
  const sets = (JSON.parse(table) as { nftables: { set?: SetJson; map?: SetJson }[] }).nftables.map(
    (each) => each.set ?? each.map,
  );
  const named = (name: string): MappingTraffic[] => readSet(sets.find((set) => set?.name === name));
  const devices = JSON.parse(links || '[]') as {
    ifname: string;
    stats64: { tx: { errors: number; collisions: number } };
  }[];
  return {
    requests: named('requests'),
    connections: [...named('ports'), ...named('port-ranges')],
    links: devices
      .filter((each) => each.ifname?.startsWith('kup-'))
      .map(({ ifname, stats64: { tx } }) => ({ device: ifname, transmitErrors: tx.errors, collisions: tx.collisions })),
  };
}

/** Tells the datapath what has been read, so that no counter that is written anew falls short of it. */
export function noteTraffic(datapath: Datapath, { requests, connections }: Traffic): void {
  const key = (each: MappingTraffic): string => `"${each.interface}" . ${each.protocol.toLowerCase()} . ${each.port}`;
  for (const each of requests) datapath.counted('requests', key(each), each.portMap, each);
  for (const each of connections)
    datapath.counted(each.port.includes('-') ? 'port-ranges' : 'ports', key(each), each.portMap, each);
}
