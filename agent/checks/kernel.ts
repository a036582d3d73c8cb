/**
 * What the rules need of the kernel, one by one: `nft -c` has the kernel judge a transaction and then drops it, so that
 * nothing is changed and what is missing is named.
 */
import { CommandError, run } from '../datapath/command.ts';
import { idleTimeoutsOf } from '../datapath/idle-timeouts.ts';
import { emptySets } from '../datapath/observe.ts';
import { renderTable } from '../datapath/ruleset.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

interface Feature {
  name: string;
  /** What it is for, when it is missing. */
  use: string;
  /** Kernel options that bring it. */
  options: string;
  /** Contents of a table of family ip. */
  text: string;
  /** What goes on without it; absent: nothing does. */
  without?: string;
}

const dnatMap = `map m { type ifname . inet_proto . inet_service : ipv4_addr . inet_service; counter; }
  chain c { type nat hook prerouting priority -110; dnat ip to iifname . meta l4proto . th dport map @m; }`;

const features: readonly Feature[] = [
  {
    name: 'nat',
    use: 'translating',
    options: 'CONFIG_NF_TABLES_IPV4, CONFIG_NFT_NAT',
    text: 'chain c { type nat hook prerouting priority -110; }',
  },
  { name: 'dnat-map', use: 'finding the pod of a port', options: 'CONFIG_NFT_NAT', text: dnatMap },
  {
    name: 'interval-map',
    use: 'ranges of ports',
    options: 'CONFIG_NF_TABLES (5.6 or newer)',
    text: 'map m { type ifname . inet_proto . inet_service : ipv4_addr; flags interval; counter; }',
  },
  {
    name: 'fib',
    use: "telling the node's own addresses from others",
    options: 'CONFIG_NFT_FIB_IPV4',
    text: 'chain c { type filter hook prerouting priority -140; fib daddr type local counter; }',
  },
  {
    name: 'ct-mark',
    use: 'sending replies back over their link',
    options: 'CONFIG_NFT_CT, CONFIG_NF_CONNTRACK_MARK',
    text: 'chain c { type filter hook prerouting priority -140; ct direction original ct mark set 0x6b700001; }',
  },
  {
    name: 'ct-mark-map',
    use: 'telling links apart',
    options: 'CONFIG_NFT_CT, CONFIG_NF_CONNTRACK_MARK',
    text: `map m { type ifname . ipv4_addr : mark; }
  chain c { type filter hook prerouting priority -140; ct mark set iifname . ip daddr map @m; }`,
  },
  {
    name: 'route-output',
    use: "sending the node's own replies back over their link",
    options: 'CONFIG_NF_TABLES_IPV4, CONFIG_NFT_CT',
    text: 'chain c { type route hook output priority -140; ct direction reply meta mark set ct mark; }',
  },
  {
    name: 'ct-original',
    use: "keeping a CNI's masquerade off kuport's flows",
    options: 'CONFIG_NFT_CT, CONFIG_NFT_NAT',
    text: 'chain c { type nat hook postrouting priority 90; ct status dnat meta l4proto udp ct original ip daddr . ct original proto-dst { 192.0.2.1 . 1 } snat ip to ip saddr; }',
  },
  {
    name: 'ct-timeout',
    use: 'spec.idleTimeout of a mapping',
    options: 'CONFIG_NFT_CT, CONFIG_NF_CONNTRACK_TIMEOUT',
    text: 'ct timeout t { protocol udp; l3proto ip; policy = { unreplied : 60, replied : 60 }; }',
    without: 'mappings without spec.idleTimeout work',
  },
];

/** Nothing else may be named so. Never made: the transaction is only judged. */
const checkedTable = 'kuport-check';

const notPermitted = /Operation not permitted|must be root/i;

/** @returns null when the kernel takes it, else what nft said */
async function refusal(text: string): Promise<string | null> {
  try {
    await run('nft', ['-c', '-f', '-'], { input: text });
    return null;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return error.stderr.trim().split('\n')[0] || (error.message.split('\n')[0] ?? '');
  }
}

async function checkFeature({ name, use, options, text, without }: Feature): Promise<Finding> {
  const check = `kernel/${name}`;
  const said = await refusal(`table ip ${checkedTable} {\n  ${text}\n}\n`);
  if (said === null) return ok(check, 'supported');
  const found = `the kernel does not take what ${use} needs: ${said}`;
  const cure = `use a kernel with ${options}`;
  return without === undefined ? failed(check, found, cure) : warning(check, `${found} (${without})`, cure);
}

/** The rules as they are shipped: what the single features may have forgotten. */
async function checkWhole(): Promise<Finding> {
  const sets = emptySets();
  sets.ports.set('"lo" . udp . 1', { value: '192.0.2.1 . 1', comment: 'check' });
  const said = await refusal(renderTable(sets, idleTimeoutsOf([])));
  return said === null
    ? ok('kernel/whole-ruleset', 'supported')
    : failed('kernel/whole-ruleset', said, 'see the single features above');
}

/**
 * A device that no kernel makes, since its MTU is below the least one: how it is refused tells whether the kernel knows
 * the type, and nothing is left of it.
 */
async function checkVxlan(): Promise<Finding> {
  const device = 'name kup-check mtu 1 type vxlan id 1 local 192.0.2.1 remote 192.0.2.2 dstport 1';
  const said = await run('ip', ['link', 'add', ...device.split(' ')]).then(
    () => '',
    (error: CommandError) => error.stderr.trim(),
  );
  return /unknown device type|not supported/i.test(said)
    ? failed('kernel/vxlan', said, 'use a kernel with CONFIG_VXLAN; returnPath.mode None needs none')
    : ok('kernel/vxlan', 'supported');
}

/** One after another: together they would wait for the kernel's one lock anyway. */
export async function checkKernel(): Promise<Finding[]> {
  const permission = await refusal(`table ip ${checkedTable} {\n}\n`);
  if (permission !== null) {
    const cure = notPermitted.test(permission)
      ? 'run as root, or with the capability NET_ADMIN in the host network'
      : 'use a kernel with CONFIG_NF_TABLES';
    return [failed('kernel/nf_tables', permission, cure)];
  }
  const findings: Finding[] = [ok('kernel/nf_tables', 'supported')];
  for (const feature of features) findings.push(await checkFeature(feature));
  findings.push(await checkWhole(), await checkVxlan());
  return findings;
}
