import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectRoot } from '../project.ts';
import { builtInTopologies, loadTopology, parseTopology } from './load.ts';

const homeEdge = readFileSync(join(projectRoot, 'lab/topologies/home-edge.yaml'), 'utf8');

/** The default topology with one line replaced, and the number of that line. */
function withLine(old: string, replacement: string): { text: string; line: number } {
  expect(homeEdge).toContain(old);
  const line = homeEdge.slice(0, homeEdge.indexOf(old)).split('\n').length;
  return { text: homeEdge.replace(old, replacement), line };
}

describe('topology files', () => {
  test.each(builtInTopologies())('%s, which comes with the lab, is valid', (name) => {
    expect(loadTopology(name).nodes.length).toBeGreaterThan(0);
  });

  test.each([
    ['unknown field', 'keepaliveSeconds: 25', 'keepaliveSecond: 25', 'mesh.keepaliveSecond = 25: no such field'],
    ['wrong type', 'mtu: 1420', 'mtu: big', 'mesh.mtu = "big": Invalid input: expected number, received string'],
    [
      'no address',
      'address: 203.0.113.9,',
      'address: 203.0.113.900,',
      'nodes.0.address = "203.0.113.900": "203.0.113.900" is not an IPv4 address',
    ],
    [
      'host bits',
      'lan: 192.168.178.0/24',
      'lan: 192.168.178.3/24',
      'sites.6.lan = "192.168.178.3/24": "192.168.178.3/24" is not a network address: did you mean 192.168.178.0/24?',
    ],
    [
      'duplicate mesh address',
      'meshAddress: 100.64.93.146',
      'meshAddress: 100.64.93.143',
      'nodes.1.meshAddress = "100.64.93.143": mesh address 100.64.93.143 of edge-d is already taken by edge-a',
    ],
    [
      'the gateway as an address',
      'address: 203.0.113.9,',
      'address: 203.0.113.1,',
      'nodes.0.address = "203.0.113.1": address 203.0.113.1 of edge-a is already taken by the internet',
    ],
    [
      'an uplink named as the mesh interface',
      'interface: enp1s0,',
      'interface: wt0,',
      'nodes.0.interface = "wt0": edge-a has its mesh interface under that name (mesh.interface): its uplink needs another',
    ],
    [
      "the control host's uplink named as the mesh interface",
      'site: datacenter-c, interface: eth0',
      'site: datacenter-c, interface: wt0',
      'control.interface = "wt0": control has its mesh interface under that name',
    ],
    [
      'unknown site',
      'site: cafe,',
      'site: pub,',
      'clients.1.site = "pub": no site is named "pub": there are datacenter-a, datacenter-d, datacenter-c, provider, home-b, home-c, cafe',
    ],
    [
      'outside the LAN',
      'address: 192.168.178.20',
      'address: 192.168.179.20',
      'clients.1.address = "192.168.179.20": 192.168.179.20 is not in 192.168.178.0/24 of site cafe',
    ],
    [
      'overlapping pod ranges',
      'podCidr: 10.244.20.0/24',
      'podCidr: 10.244.16.0/23',
      'nodes.1.podCidr = "10.244.16.0/23": 10.244.16.0/23 overlaps 10.244.17.0/24 of edge-a',
    ],
    [
      'overlapping sites',
      '{ name: datacenter-d, nat: public, subnet: 203.0.113.64/26 }',
      '{ name: datacenter-d, nat: public, subnet: 203.0.113.0/25 }',
      'sites.1.subnet = "203.0.113.0/25": 203.0.113.0/25 overlaps 203.0.113.0/26 of site datacenter-a',
    ],
    ['a NAT site without a router', ', router: 192.0.2.6', '', 'sites.5.router: a port-restricted site needs router'],
    [
      'duplicate names',
      'name: client-b',
      'name: client-a',
      'clients.1.name = "client-a": name client-a of client-a is already taken by client-a',
    ],
    [
      'a name too long for a device',
      'name: datacenter-c, nat',
      'name: datacenter-cc, nat',
      'sites.2.name = "datacenter-cc": use 1 to 12 of a-z, 0-9 and -, starting with a letter (it becomes part of a device name)',
    ],
  ])('%s: the message names line, field and value', (_, old, replacement, message) => {
    const { text, line } = withLine(old, replacement);
    expect(() => parseTopology(text, 'mine.yaml')).toThrow(`mine.yaml:${line}: ${message}`);
  });

  test('all problems of a file are reported at once', () => {
    const text = homeEdge.replace('mtu: 1420', 'mtu: 1').replace('port: 51820', 'port: 0');
    expect(() => parseTopology(text, 'mine.yaml')).toThrow(/mesh\.mtu = 1: .*\n.*mesh\.port = 0: /);
  });

  test('YAML that does not parse is reported with its line', () => {
    expect(() => parseTopology('name: x\nsites: [\n', 'mine.yaml')).toThrow(/^mine\.yaml:[23]: Flow sequence/);
  });

  test('a file that is not there: what was tried and what there is', () => {
    expect(() => loadTopology('nowhere')).toThrow(/cannot read topology .*nowhere\.yaml: ENOENT.*home-edge/);
  });
});
