import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CommandLine } from '../testing/command-line.ts';

const golden = fileURLToPath(new URL('../../golden', import.meta.url));
const kept = (name: string): string => readFileSync(join(golden, name), 'utf8');

let program: CommandLine;

beforeAll(async () => {
  program = await CommandLine.build();
});

afterAll(() => program.remove());

/** All that cleanup could have touched, without what the kernel itself counts. */
const state = `state() { nft -s list ruleset; ip -d link | grep -v 'link/'; ip -4 addr show; ip rule; ip -4 route show table all; grep . /proc/sys/net/ipv4/conf/*/rp_filter; sysctl net.ipv4.ip_forward; }`;

/** What others have on the node: near kuport's in every way. */
const others = [
  'nft add table ip kuport-other',
  'nft add table inet kuport',
  "nft 'add table ip nat; add chain ip nat pre { type nat hook prerouting priority dstnat; }'",
  'ip link add cilium_vxlan type vxlan id 7 remote 192.0.2.9 dstport 8472',
  'ip link add kuport0 type veth peer name kup',
  'ip rule add pref 101 fwmark 0x6b702094 lookup 50',
  'ip rule add pref 110 not fwmark 0x1bd00 lookup 7120 protocol 108',
  'ip route add 192.0.2.128/25 dev lo table 7120 proto 108',
  'ip addr add 100.64.93.144/32 dev lo',
].join(' && ');

/** The node with two links of the golden case, as an agent that has been killed leaves it. */
const held = `nft -f - <<'END'
${kept('two-classes/worker-b.nft')}END
ip -batch - <<'END'
${kept('two-classes/worker-b.ip')}END`;

function run(script: string): string[] {
  const { stdout, stderr, code } = program.inNamespace(`${state}\n${others}\n${script}`);
  if (code !== 0) throw new Error(`exit code ${code}\n${stdout}\n${stderr}`);
  return stdout.split('=====\n');
}

describe('kuport-agent cleanup', () => {
  test("--dry-run prints what would go and touches nothing; without it only kuport's goes; a second time there is none", () => {
    const [before, with_, dry = '', afterDry, done, after, again] = run(`state; echo =====
${held}
state; echo =====
kuport_agent cleanup --dry-run && echo ===== && state && echo =====
kuport_agent cleanup && echo ===== && state && echo =====
kuport_agent cleanup`);
    expect(with_).not.toBe(before);
    expect(afterDry).toBe(with_);
    expect(dry).toContain('delete table ip kuport\n');
    for (const name of kept('two-classes/worker-b.ip').match(/(?<=link add )kup-[0-9a-f]{8}/g) ?? [])
      expect(dry).toContain(`ip link del ${name}`);
    expect(dry.match(/^ip rule del pref 10[12] fwmark 0x6b70/gm)).toHaveLength(4);
    expect(done).toBe(dry);
    expect(after).toBe(before);
    expect(again).toBe('nothing of kuport is on this node\n');
  });

  test.each([
    ['only links are left', 'nft delete table ip kuport; ip rule del pref 101; ip rule flush proto 107'],
    [
      'only rules are left',
      'nft delete table ip kuport; for d in $(ip -br link | grep -o "^kup-[0-9a-f]*"); do ip link del $d; done',
    ],
    [
      'only a table of an older release is left',
      'ip rule flush proto 107; for d in $(ip -br link | grep -o "^kup-[0-9a-f]*"); do ip link del $d; done; nft delete table ip kuport; nft add table ip kuport; nft add chain ip kuport old',
    ],
  ])('%s', (_, damage) => {
    const [before, after] = run(`ip rule del pref 101; state; echo =====
${held}
${damage}
kuport_agent cleanup > /dev/null && state`);
    expect(after).toBe(before);
  });

  test('flows that were translated are forgotten with the rules', () => {
    const flow =
      'conntrack -I -p udp -s 198.51.100.7 -d 169.254.77.1 --sport 5555 --dport 3000 -g 10.244.18.107:3000 -t 60';
    const foreign =
      'conntrack -I -p udp -s 198.51.100.7 -d 169.254.77.1 --sport 5555 --dport 4000 -g 10.244.18.9:4000 -t 60';
    const [, done, flows] = run(`${held}
${flow} 2>&1 && ${foreign} 2>&1; echo =====
kuport_agent cleanup && echo ===== && conntrack -L 2>/dev/null`);
    expect(done).toMatch(/\n1 conntrack entry deleted\n$/);
    expect(flows?.trim().split('\n')).toEqual([expect.stringContaining('dport=4000')]);
  });

  test('without the capability NET_ADMIN nothing is called clean: exit code 1', () => {
    const { code, stdout, stderr } = program.inNamespace(`${held}
setpriv --bounding-set=-net_admin $agent cleanup`);
    expect(stdout).not.toContain('nothing of kuport');
    expect(stderr).toContain('Operation not permitted');
    expect(code).toBe(1);
  });
});
