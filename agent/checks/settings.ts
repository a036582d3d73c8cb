/** Settings of the host that decide whether packets get through: forwarding, reverse path filters, firewalls. */
import { readFile } from 'node:fs/promises';
import { run } from '../datapath/command.ts';
import type { IpLink } from '../datapath/ip-json.ts';
import { devicePrefix } from '../datapath/observe.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

const strict = 1;
const shownDevices = 3;

/** @returns null where there is no such setting */
async function setting(path: string): Promise<number | null> {
  try {
    return Number(await readFile(`/proc/sys/net/ipv4/${path}`, 'utf8'));
  } catch {
    return null;
  }
}

async function checkForwarding(): Promise<Finding> {
  const value = await setting('ip_forward');
  return value === 1
    ? ok('host/ip-forward', 'net.ipv4.ip_forward is 1')
    : failed(
        'host/ip-forward',
        `net.ipv4.ip_forward is ${value ?? 'not readable'}: no packet reaches a pod`,
        'sysctl -w net.ipv4.ip_forward=1, and the same in /etc/sysctl.d',
      );
}

/**
 * With src_valid_mark the route back is looked up with the packet's mark: a marked reply of a pod leads to the link
 * instead of the pod's device, where strict filtering drops it (measured). Each setting counts alone; both must be there.
 * Devices that lead to pods are veths, and so are some others: a strict one that carries no pod does no harm.
 */
async function checkReversePath(links: readonly IpLink[]): Promise<Finding> {
  const check = 'host/reverse-path';
  const [allFilter, allMark] = await Promise.all([setting('conf/all/rp_filter'), setting('conf/all/src_valid_mark')]);
  const veths = links.filter(
    ({ ifname, linkinfo }) => linkinfo?.info_kind === 'veth' && !ifname.startsWith(devicePrefix),
  );
  const judged = await Promise.all(
    [...veths.map((each) => each.ifname), 'default'].map(async (device) => {
      const [filter, mark] = await Promise.all([
        setting(`conf/${device}/rp_filter`),
        setting(`conf/${device}/src_valid_mark`),
      ]);
      const isStrict = Math.max(allFilter ?? 0, filter ?? 0) === strict;
      return { device, isStrict, drops: isStrict && (allMark === 1 || mark === 1) };
    }),
  );
  const dropping = judged.filter((each) => each.drops).map((each) => each.device);
  const cure = 'sysctl -w net.ipv4.conf.all.rp_filter=2 (loose), and the same in /etc/sysctl.d';
  const because = 'rp_filter is 1 (strict) and src_valid_mark 1';
  const devices = dropping.filter((device) => device !== 'default');
  if (devices.length > 0) {
    const more = devices.length > shownDevices ? ` and ${devices.length - shownDevices} more` : '';
    const found = `${because} on devices that lead to pods, whose replies over a link are dropped`;
    return { ...failed(check, found, cure), detail: `${devices.slice(0, shownDevices).join(', ')}${more}` };
  }
  if (dropping.length > 0)
    return warning(check, `${because} for devices to come: replies of pods behind them would be dropped`, cure);
  return ok(check, judged.some((each) => each.isStrict) ? 'strict, without src_valid_mark' : 'not strict');
}

interface ChainJson {
  family: string;
  table: string;
  name: string;
  hook?: string;
  policy?: string;
}

/** kuport writes no filter rule: what a firewall does not let through stays outside. */
async function checkForwardPolicy(): Promise<Finding> {
  const check = 'host/forward-policy';
  const { nftables } = JSON.parse(await run('nft', ['--json', 'list', 'chains'])) as {
    nftables: { chain?: ChainJson }[];
  };
  const dropping = nftables.flatMap(({ chain }) =>
    chain?.hook === 'forward' && chain.policy === 'drop' && ['ip', 'inet'].includes(chain.family)
      ? [`${chain.family} ${chain.table} ${chain.name}`]
      : [],
  );
  return dropping.length === 0
    ? ok(check, 'no chain drops what is forwarded by default')
    : warning(
        check,
        `chain ${dropping.join(', chain ')} drops what is forwarded unless a rule accepts it (Docker and ufw do so)`,
        "accept there what mappings deliver: `ct status dnat accept` before the chain's end",
      );
}

/** @throws CommandError */
export async function checkSettings(links: readonly IpLink[]): Promise<Finding[]> {
  return Promise.all([checkForwarding(), checkReversePath(links), checkForwardPolicy()]);
}
