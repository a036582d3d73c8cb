/** What `ip -N -d -json` prints, as far as it is read here, in one process for all of it. Numeric: names of tables and protocols differ per host. */
import { run } from './command.ts';
import { routeProtocol } from './routing.ts';

export interface IpLink {
  ifname: string;
  flags: string[];
  mtu: number;
  /** MAC. */
  address?: string;
  linkinfo?: {
    info_kind?: string;
    info_data?: { id?: number; local?: string; remote?: string; port?: number; ttl?: number };
  };
  addr_info: { family: string; local: string; prefixlen: number }[];
}

export interface IpRule {
  priority: number;
  src?: string;
  dst?: string;
  dstlen?: number;
  fwmark?: string;
  fwmask?: string;
  table?: string;
  protocol?: string;
}

export interface IpRoute {
  dst: string;
  gateway?: string;
  dev?: string;
  table?: string;
  protocol?: string;
  flags?: string[];
}

export interface IpState {
  links: IpLink[];
  rules: IpRule[];
  routes: IpRoute[];
}

/** Splits the concatenated arrays that a batch of `show` commands prints, one per command. */
function parseArrays(text: string): unknown[][] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as unknown[]);
}

/** @throws CommandError */
export async function readIpState(): Promise<IpState> {
  // Without -4: `ip -4 addr` leaves out devices that have lost their address, which is what must be seen.
  const batch = ['addr show', 'rule show', `route show table all proto ${routeProtocol}`];
  const text = await run('ip', ['-N', '-d', '-json', '-batch', '-'], { input: `${batch.join('\n')}\n` });
  const [links = [], rules = [], routes = []] = parseArrays(text);
  return { links: links as IpLink[], rules: rules as IpRule[], routes: routes as IpRoute[] };
}
