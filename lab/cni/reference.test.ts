/** What a lab node holds against what a real Cilium node held, line by line; differences.ts has all that may differ. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Lab } from '../lab.ts';
import { kubeProxyServices } from '../neighbours/kube-proxy.ts';
import type { ServicePort } from '../neighbours/service-rules.ts';
import { applyHostSetup } from '../network/host-setup.ts';
import { loadTopology } from '../topology/load.ts';
import type { CniNode } from './cni-node.ts';
import { differences, programs } from './differences.ts';
import { parseIptables } from './iptables-text.ts';
import {
  labConfiguration,
  type ReferenceFile,
  referenceFile,
  referenceNode,
  referenceRules,
  withNodeAddresses,
} from './reference.ts';

const topology = loadTopology('home-edge');
const clusterCidr = topology.pods.cidr;

/** The Services that the reference cluster had, in the order in which its kube-proxy wrote them. */
const referenceServices: readonly ServicePort[] = [
  {
    ...{ namespace: 'default', name: 'web', protocol: 'TCP', clusterAddress: '10.96.21.82', port: 80, nodePort: 30080 },
    endpoints: [{ address: '10.244.2.12', port: 8080 }],
  },
  {
    ...{ namespace: 'default', name: 'kubernetes', portName: 'https', protocol: 'TCP' },
    ...{ clusterAddress: '10.96.0.1', port: 443, endpoints: [{ address: '192.168.66.1', port: 6443 }] },
  },
];

let lab: Lab;
let edge: CniNode;
let peers: CniNode[];

beforeAll(async () => {
  lab = await Lab.up({ name: `cni-reference-${process.pid}`, topology, agents: false });
  const found = lab.nodes.get('edge-a');
  if (found === undefined) throw new Error('no edge-a');
  edge = found;
  peers = [...lab.nodes.values()].filter((node) => node !== edge);
  await lab.workload.createNamespace('test');
  await lab.workload.startPod({
    ...{ namespace: 'test', name: 'one', node: 'edge-a' },
    ports: [{ name: 'udp', protocol: 'UDP', port: 3000 }],
  });
});
afterAll(async () => {
  await lab?.down();
});

const run = async (...argv: string[]): Promise<string> => (await lab.host('edge-a').exec(argv)).stdout;
const reference = (file: ReferenceFile): string =>
  withNodeAddresses(referenceFile(labConfiguration, file), edge, clusterCidr);

/** Lines without what one side is meant to have alone; what stands in the table and is not there fails. */
function comparable(file: ReferenceFile, side: 'lab' | 'reference', lines: readonly string[]): string[] {
  const allowed = differences.filter((each) => each.file === file && each.only === side);
  for (const { line, reason } of allowed)
    expect(lines, `${side} ${file}: ${line} (${reason})`).toContainEqual(expect.stringMatching(line));
  return lines.filter((line) => !allowed.some((each) => each.line.test(line)));
}

function compare(file: ReferenceFile, inLab: readonly string[], inReference: readonly string[]): void {
  expect(inReference.length).toBeGreaterThan(0);
  expect(comparable(file, 'lab', inLab)).toEqual(comparable(file, 'reference', inReference));
}

const tidy = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '');

describe('a node with its neighbours and the Services of the reference cluster', () => {
  test('iptables: every table, chain and rule, with comments, in order', async () => {
    await applyHostSetup(lab.host('edge-a'), kubeProxyServices(referenceServices, { clusterCidr }));
    const flat = (text: string): string[] =>
      parseIptables(text)
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .flatMap(({ name, chains, rules }) => [`*${name}`, ...chains, ...rules]);
    const wanted = referenceRules().map(({ name, chains, rules }) => [`*${name}`, ...chains, ...rules].join('\n'));
    compare(
      'iptables-save.txt',
      flat(await run('iptables-save')),
      flat(withNodeAddresses(wanted.join('\n'), edge, clusterCidr)),
    );
    await applyHostSetup(lab.host('edge-a'), kubeProxyServices([], { clusterCidr, previous: referenceServices }));
    expect(await run('iptables-save')).not.toMatch(/KUBE-(SVC|SEP|EXT)-/);
  });

  test('ip rules', async () => {
    compare('ip-rule.txt', tidy(await run('ip', 'rule')), tidy(reference('ip-rule.txt')));
  });

  test('routes by Cilium devices and its table 2004, in all tables', async () => {
    const own = (text: string): string[] => tidy(text).filter((line) => /cilium_|lxc|table 2004/.test(line));
    // The reference cluster had one other node, and an underlay of 1500 bytes where the mesh here carries 1420.
    const wanted = own(reference('ip-route-all.txt')).flatMap((line) =>
      line.startsWith('10.244.2.0/24')
        ? peers.map((peer) => line.replace('10.244.2.0/24', peer.podCidr).replace('mtu 1450', 'mtu 1370'))
        : [line],
    );
    expect(wanted).toHaveLength(4 + peers.length);
    compare('ip-route-all.txt', own(await run('ip', '-4', 'route', 'show', 'table', 'all')).sort(), wanted.sort());
  });

  test('devices: pairs, NOARP, state, MTU and addresses', async () => {
    // One line a device: `name NOARP|- up|down mtu peer addresses`.
    const devices = (text: string): string[] =>
      text
        .split(/^(?=\d+: )/m)
        .flatMap((block) => {
          const [, name = '', peer = '-', flags = '', mtu = ''] =
            /^\d+: ([^:@]+)(?:@(\S+))?: <(\S+)> mtu (\d+)/.exec(block) ?? [];
          if (!/^(cilium_|lxc)/.test(name)) return [];
          const addresses = [...block.matchAll(/inet (\S+)/g)].map((match) => match[1]);
          const words = flags.split(',');
          return [
            [name, words.includes('NOARP') ? 'NOARP' : '-', words.includes('LOWER_UP') ? 'up' : 'down', mtu]
              .concat(peer.startsWith('if') ? 'a pod' : peer, ...addresses.map((each) => each ?? ''))
              .join(' '),
          ];
        })
        .sort();
    compare('ip-addr.txt', devices(await run('ip', 'addr')), devices(reference('ip-addr.txt')));
  });

  test('the tunnel is VXLAN to port 8472 that learns nothing and has one entry for each peer', async () => {
    const link = await run('ip', '-details', 'link', 'show', 'cilium_vxlan');
    expect(link).toMatch(/vxlan id 1 .*dstport 8472 .*nolearning/);
    const entries = tidy(await run('bridge', 'fdb', 'show', 'dev', 'cilium_vxlan'));
    expect(entries.map((entry) => / dst (\S+) /.exec(entry)?.[1]).sort()).toEqual(
      peers.map((peer) => peer.meshAddress).sort(),
    );
  });

  test('sysctls', async () => {
    const wanted = tidy(reference('sysctl.txt'));
    const names = wanted.map((line) => line.split(' ')[0] ?? '');
    compare('sysctl.txt', tidy(await run('sysctl', ...names)), wanted);
  });

  test('every eBPF program of the reference node has its stand-in, or a reason for none', () => {
    const attached = tidy(referenceFile(labConfiguration, 'bpf-attachments.txt')).filter((line) =>
      line.includes('cil_'),
    );
    for (const line of attached)
      expect(
        programs.filter(({ attachment }) => attachment.test(line)),
        line,
      ).toHaveLength(1);
    for (const { attachment } of programs)
      expect(attached, String(attachment)).toContainEqual(expect.stringMatching(attachment));
  });

  test('no address of the reference node is left on a lab node', async () => {
    const state = `${await run('iptables-save')}${await run('ip', '-4', 'route', 'show', 'table', 'all')}${await run('ip', 'addr')}`;
    for (const address of Object.values(referenceNode)) {
      if (address !== clusterCidr) expect(state).not.toContain(address);
    }
  });
});
