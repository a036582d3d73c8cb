/** `kuport-agent check` in network namespaces that have what it looks for. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { IpRule } from '../datapath/ip-json.ts';
import { CommandLine, type Outcome } from '../testing/command-line.ts';
import type { Finding } from './finding.ts';
import { shadowingRules } from './rules.ts';

let program: CommandLine;
const forwarding = 'sysctl -qw net.ipv4.ip_forward=1';

beforeAll(async () => {
  program = await CommandLine.build();
});

afterAll(() => program.remove());

function inNamespace(script: string): Outcome {
  return program.inNamespace(`check() { kuport_agent check "$@"; } && ${script}`);
}

/** What is found after a script, as JSON, without what is well. */
function found(script: string, args = ''): { code: number | null; findings: Finding[]; all: Finding[] } {
  const { code, stdout, stderr } = inNamespace(`${script} && check --json ${args}`);
  if (stdout === '') throw new Error(stderr);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, all: findings, findings: findings.filter((each) => each.status !== 'ok') };
}

const named = (findings: readonly Finding[]): string[] => findings.map(({ check, status }) => `${check} ${status}`);

test('a node that has all it needs: exit code 0, every check named', () => {
  const { code, findings, all } = found(forwarding);
  expect(findings).toEqual([]);
  expect(code).toBe(0);
  expect(all.map((each) => each.check)).toEqual(
    expect.arrayContaining(['tools/nft', 'kernel/fib', 'kernel/ct-timeout', 'kernel/vxlan', 'host/ip-rules']),
  );
});

test('a check leaves nothing behind, in nft or in ip', () => {
  const { stdout } = inNamespace(`${forwarding} && check > /dev/null; nft list ruleset; ip -brief link`);
  expect(stdout.trim().split('\n')).toEqual([expect.stringMatching(/^lo /)]);
});

test('a host that forwards nothing', () => {
  const { code, findings } = found('sysctl -qw net.ipv4.ip_forward=0');
  expect(findings).toMatchObject([{ check: 'host/ip-forward', status: 'failed' }]);
  expect(findings[0]?.found).toContain('net.ipv4.ip_forward is 0');
  expect(findings[0]?.cure).toContain('sysctl -w net.ipv4.ip_forward=1');
  expect(code).toBe(3);
});

describe('reverse path filtering', () => {
  const veth = 'ip link add lxc1 type veth peer name eth0';
  const set = (path: string, value: number): string => `sysctl -qw net.ipv4.conf.${path}=${value}`;
  // What is in force is the larger of the device's value and that of `all`, whatever a namespace begins with.
  const calm = ['all', 'default', 'lxc1', 'eth0'].map((device) => set(`${device}.rp_filter`, 0)).join(' && ');
  const strict = set('lxc1.rp_filter', 1);

  test.each<[string, string[], string[]]>([
    ['strict alone', [strict], []],
    ['src_valid_mark alone', [set('all.src_valid_mark', 1)], []],
    ['both', [strict, set('all.src_valid_mark', 1)], ['host/reverse-path failed']],
    ['both, by the device', [strict, set('lxc1.src_valid_mark', 1)], ['host/reverse-path failed']],
    ['strict everywhere', [set('all.rp_filter', 1), set('all.src_valid_mark', 1)], ['host/reverse-path failed']],
    ['loose everywhere, which wins', [strict, set('all.rp_filter', 2), set('all.src_valid_mark', 1)], []],
    [
      'strict for devices to come',
      [set('default.rp_filter', 1), set('all.src_valid_mark', 1)],
      ['host/reverse-path warning'],
    ],
  ])('%s', (_, settings, expected) => {
    const { findings } = found([forwarding, veth, calm, ...settings].join(' && '));
    expect(named(findings)).toEqual(expected);
    if (expected[0]?.endsWith('failed')) expect(findings[0]?.detail).toContain('lxc1');
  });
});

test('a firewall that drops what is forwarded is a warning, not a failure', () => {
  const chain = (family: string, hook: string, policy: string): string =>
    `nft 'add table ${family} fw; add chain ${family} fw ${hook}-${policy} { type filter hook ${hook} priority 0; policy ${policy}; }'`;
  const { code, findings } = found([forwarding, chain('ip', 'forward', 'drop')].join(' && '));
  expect(named(findings)).toEqual(['host/forward-policy warning']);
  expect(findings[0]?.found).toContain('chain ip fw forward-drop');
  expect(code).toBe(0);
  const harmless = [chain('ip', 'forward', 'accept'), chain('inet', 'input', 'drop'), chain('ip6', 'forward', 'drop')];
  expect(found([forwarding, ...harmless].join(' && ')).findings).toEqual([]);
});

test('ip rules that stand before kuport and can take marked replies', () => {
  const rules: [string, boolean][] = [
    ['pref 9 fwmark 0x200/0xf00 lookup 2004', false],
    ['pref 100 from all lookup local', false],
    ['pref 105 lookup main suppress_prefixlength 0', false],
    ['not fwmark 0x1bd00 pref 110 lookup 7120', false],
    ['pref 101 fwmark 0x6b702094 to 192.0.2.1/32 lookup main protocol 107', false],
    ['pref 50 fwmark 0x6b700000/0xffff0000 lookup 50', true],
    ['pref 50 fwmark 0x6b710000/0xffff0000 lookup 50', false],
    ['pref 50 not fwmark 0x6b700000/0xffff0000 lookup 50', false],
    ['pref 50 not fwmark 0x1bd00 lookup 50', true],
    ['pref 102 lookup 50', true],
    ['pref 40 from 10.244.0.0/16 lookup 50', true],
    ['pref 40 iif lo lookup 50', false],
  ];
  // Each alone, as the kernel lists it.
  const { stdout } = inNamespace(
    rules.map(([rule]) => `ip rule add ${rule} && ip -N -json rule show && ip rule del ${rule}`).join(' && '),
  );
  const listings = stdout.trim().split('\n');
  const taken = listings.map((listing) => shadowingRules(JSON.parse(listing) as IpRule[]));
  expect(rules.map(([rule], index) => [rule, taken[index]?.length === 1])).toEqual(rules);
  expect(taken.flat()).toContain('50: from all fwmark 0x6b700000/0xffff0000 lookup 50');
  const { code, findings } = found(`${forwarding} && ip rule add pref 40 from 10.244.0.0/16 lookup 50`);
  expect(named(findings)).toEqual(['host/ip-rules warning']);
  expect(findings[0]?.found).toContain('ip rule 40: from 10.244.0.0/16 lookup 50 stands before');
  expect(code).toBe(0);
});

describe('of its classes', () => {
  const node = `kind: Node
metadata: { name: edge-a }
status: { addresses: [{ type: InternalIP, address: 100.64.93.143 }], conditions: [{ type: Ready, status: "True" }] }`;
  const portMapClass = (name: string, spec: string): string => `kind: PortMapClass
metadata: { name: ${name} }
spec: { nodes: { edge-a: { interfaces: [enp1s0] } }, ${spec} }`;
  const vxlan = (more = ''): string => `returnPath: { mode: Vxlan, vxlan: { port: 4790${more} } }`;
  const cilium = (data: string): string => `kind: ConfigMap
metadata: { name: cilium-config, namespace: kube-system }
data: { ${data} }`;
  const interfaces = [
    forwarding,
    'ip link add enp1s0 type veth peer name other && ip addr add 203.0.113.9/24 dev enp1s0',
    'ip addr add 100.64.93.143/24 dev enp1s0 && ip link set enp1s0 up',
  ].join(' && ');

  function foundOf(script: string, ...manifests: string[]): ReturnType<typeof found> {
    const file = join(program.folder, 'manifests.yaml');
    writeFileSync(file, [node, ...manifests].join('\n---\n'));
    return found(script, `--node edge-a -f ${file}`);
  }

  test('all is well', () => {
    const { code, findings, all } = foundOf(interfaces, portMapClass('public', vxlan()));
    expect(findings).toEqual([]);
    expect(all.at(-1)).toMatchObject({ check: 'class/public', found: 'can be served on enp1s0 203.0.113.9' });
    expect(code).toBe(0);
  });

  test.each<[string, string, string[], string, string]>([
    [
      'an interface that is not there',
      forwarding,
      [portMapClass('public', 'returnPath: { mode: None }')],
      'class/public',
      'interface enp1s0 is not on this node',
    ],
    [
      "no interface with the Node's address",
      `${interfaces} && ip addr del 100.64.93.143/24 dev enp1s0`,
      [portMapClass('public', vxlan())],
      'class/public',
      "no interface here has the Node's InternalIP 100.64.93.143",
    ],
    [
      "the links' port taken by another tunnel",
      `${interfaces} && ip link add cilium_vxlan type vxlan external dstport 4790 && ip link set cilium_vxlan up`,
      [portMapClass('public', vxlan())],
      'class/public',
      'UDP port 4790 (spec.returnPath.vxlan.port) is taken on this node by vxlan: use another',
    ],
    [
      "the links' port is the CNI's by its configuration",
      interfaces,
      [portMapClass('public', vxlan()), cilium('tunnel-port: "4790"')],
      'class/public',
      "VxlanPortConflict: spec.returnPath.vxlan.port 4790 is the CNI's own tunnel port",
    ],
    [
      'a class that cannot be served',
      interfaces,
      [portMapClass('public', vxlan(', subnet: nonsense'))],
      'class/public',
      'InvalidSubnet: spec.returnPath.vxlan.subnet "nonsense"',
    ],
    [
      "a Cilium that bypasses the host's stack",
      interfaces,
      [portMapClass('public', vxlan()), cilium('kube-proxy-replacement: "true", enable-bpf-masquerade: "true"')],
      'cluster/cni',
      'Cilium routes past the network stack of the host (BPF host routing)',
    ],
  ])('%s', (_, script, manifests, check, text) => {
    const { code, findings } = foundOf(script, ...manifests);
    expect(named(findings)).toEqual([`${check} failed`]);
    expect(findings[0]?.found).toContain(text);
    expect(code).toBe(3);
  });

  test("links of kuport's own hold their port by right", () => {
    const link = 'ip link add kup-00000001 type vxlan id 4242 remote 100.64.93.144 dstport 4790';
    const { findings } = foundOf(
      `${interfaces} && ${link} && ip link set kup-00000001 up`,
      portMapClass('public', vxlan()),
    );
    expect(findings).toEqual([]);
  });
});

test('replies that never come: a warning, gone with the first answer', () => {
  // A port of its own for each datagram: so many flows.
  const sender = (count: number): string =>
    `for (let n = 0; n < ${count}; n++) require("dgram").createSocket("udp4").send("x", 3000, "203.0.113.9"); setTimeout(() => process.exit(), 200)`;
  const setUp = [
    forwarding,
    'for n in client pod; do ip netns add $n; ip -n $n link set lo up; done',
    'ip link add enp1s0 type veth peer name eth0 netns client && ip addr add 203.0.113.9/24 dev enp1s0',
    'ip link set enp1s0 up && ip -n client addr add 203.0.113.7/24 dev eth0 && ip -n client link set eth0 up',
    'ip link add lxc1 type veth peer name eth0 netns pod && ip addr add 10.244.1.1/24 dev lxc1 && ip link set lxc1 up',
    'ip -n pod addr add 10.244.1.7/24 dev eth0 && ip -n pod link set eth0 up',
    'ip -n pod route add default via 10.244.1.1',
    // As an eBPF redirect would: what the pod says never comes.
    "ip netns exec pod nft 'add table ip fw; add chain ip fw out { type filter hook output priority 0; policy drop; }'",
    `nft -f - <<'END'
table ip kuport {
  map ports { type ifname . inet_proto . inet_service : ipv4_addr . inet_service; counter; }
  chain kup-pre {
    type nat hook prerouting priority dstnat - 10; policy accept;
    dnat ip to iifname . meta l4proto . th dport map @ports
  }
}
add element ip kuport ports { "enp1s0" . udp . 3000 : 10.244.1.7 . 3000 }
END`,
  ].join('\n');
  const send = (count: number): string => `ip netns exec client "${process.execPath}" -e '${sender(count)}'`;
  const answer = `ip netns exec pod "${process.execPath}" -e 'const s = require("dgram").createSocket("udp4"); s.on("message", (m, r) => s.send(m, r.port, r.address)); s.bind(3000)' > /dev/null 2>&1 & until ip netns exec pod grep -q :0BB8 /proc/net/udp; do sleep 0.02; done`;
  const { stdout, stderr } = inNamespace(`${setUp}
    ${send(4)}; check --json; echo =====; ${send(3)}; check --json; echo =====
    ip netns exec pod nft delete table ip fw; ${answer}; ${send(1)}; check --json`);
  const checks = stdout.split('=====').map((text) => {
    if (text.trim() === '') throw new Error(stderr);
    return (JSON.parse(text) as { findings: Finding[] }).findings.find((each) => each.check === 'host/replies');
  });
  expect(checks.map((each) => each?.status)).toEqual(['ok', 'warning', 'ok']);
  expect(checks[0]?.found).toBe('0 of 4 flows have been answered');
  expect(checks[1]).toMatchObject({ detail: '7 flows' });
  expect(checks[1]?.cure).toContain('enable-host-legacy-routing: "true"');
});

/** Stands before a tool in PATH and answers in its place where the script does not `exec` it. */
function withTool(name: string, script: string): string {
  const bin = join(program.folder, `bin-${name}-${Math.random().toString(36).slice(2)}`);
  mkdirSync(bin);
  writeFileSync(join(bin, name), `#!/bin/sh\nreal() { PATH=\${PATH#*:} exec ${name} "$@"; }\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
  return `${forwarding} && PATH=${bin}:$PATH`;
}

describe('tools and kernel', () => {
  test.each<[string, string, string]>([
    ['nft', '1.0.2', 'tools/nft warning'],
    ['nft', '0.9.8', 'tools/nft warning'],
    ['nft', '1.1.0', ''],
  ])('%s %s: %s', (tool, version, expected) => {
    const script = `[ "$1" = --version ] && echo "nftables v${version} (name)" && exit; real "$@"`;
    expect(named(found(withTool(tool, script)).findings).join()).toBe(expected);
  });

  test('a tool that is not there', () => {
    const { code, findings } = found(withTool('conntrack', 'echo "conntrack: gone" >&2; exit 127'));
    expect(named(findings)).toEqual(['tools/conntrack failed']);
    expect(findings[0]?.cure).toContain('install package conntrack');
    expect(code).toBe(3);
  });

  // No kernel here lacks them: nft refuses in its place what such a kernel would.
  test.each<[string, string, string[]]>([
    ['fib', 'fib daddr', ['kernel/fib failed', 'kernel/whole-ruleset failed']],
    ['conntrack timeouts', 'ct timeout', ['kernel/ct-timeout warning']],
    ['route chains', 'type route hook', ['kernel/route-output failed', 'kernel/whole-ruleset failed']],
  ])('a kernel without %s', (_, words, expected) => {
    const script = `[ "$1" = -c ] || real "$@"
text=$(cat); case "$text" in *"${words}"*) echo "Error: Could not process rule: No such file or directory" >&2; exit 1;; esac
printf '%s' "$text" | real "$@"`;
    const { findings } = found(withTool('nft', script));
    expect(named(findings)).toEqual(expected);
    expect(findings[0]?.found).toContain('No such file or directory');
    expect(findings[0]?.cure).toContain('CONFIG_');
  });

  test('without the capability NET_ADMIN one line says so', () => {
    const { code, stdout } = inNamespace(`${forwarding} && setpriv --bounding-set=-net_admin $agent check --json`);
    expect(code).toBe(3);
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const kernel = findings.filter((each) => each.check.startsWith('kernel/'));
    expect(named(kernel)).toEqual(['kernel/nf_tables failed']);
    expect(kernel[0]?.cure).toContain('NET_ADMIN');
  });
});

describe('as a command', () => {
  test('a table for people, with the cure below and a sentence at the end', () => {
    const { stdout } = inNamespace('sysctl -qw net.ipv4.ip_forward=0; check');
    expect(stdout).toMatch(/^FAILED {3}host\/ip-forward +net\.ipv4\.ip_forward is 0: no packet reaches a pod$/m);
    expect(stdout).toMatch(/^ +-> sysctl -w net\.ipv4\.ip_forward=1/m);
    expect(stdout).toMatch(/\nnot fit for kuport: 1 failure, 0 warnings\n$/);
  });

  test.each<[string, number, string]>([
    ['--kubeconfig /nowhere --node edge-a', 2, '--kubeconfig /nowhere: ENOENT'],
    ['-f /nowhere.yaml', 2, "the node's name is needed"],
    ['-f /nowhere.yaml --node edge-a', 2, 'cannot read /nowhere.yaml'],
    ['--wrong', 2, "unknown option '--wrong'"],
  ])('%s: exit code %i', (args, code, text) => {
    const outcome = inNamespace(`check ${args}`);
    expect(outcome.stderr).toContain(text);
    expect(outcome.code).toBe(code);
  });

  test('an API server that does not answer: exit code 1, naming it', () => {
    const file = join(program.folder, 'kubeconfig');
    const cluster = { name: 'c', cluster: { server: 'http://127.0.0.1:1', 'insecure-skip-tls-verify': true } };
    const context = { name: 'c', context: { cluster: 'c', user: 'u' } };
    const users = [{ name: 'u', user: { token: 't' } }];
    writeFileSync(file, JSON.stringify({ clusters: [cluster], contexts: [context], users, 'current-context': 'c' }));
    const { code, stderr } = inNamespace(`check --node edge-a --kubeconfig ${file}`);
    expect(stderr).toContain('the cluster cannot be asked: GET http://127.0.0.1:1/');
    expect(stderr).toContain('ECONNREFUSED');
    expect(code).toBe(1);
  });
});
