/** Cables and bridges, with machines whose end is a tap. */
import { expect, test } from 'vitest';
import type { Segment } from '../../network/segments.ts';
import { gatewayDevice, wireLines } from './wires.ts';

const end = (host: string, device: string) => ({ host, device, address: '192.0.2.1', prefixLength: 24 });
const cable: Segment = { gateway: end('internet', 'home'), hosts: [end('edge-a', 'enp1s0')] };
const lan: Segment = { gateway: end('router', 'lan'), hosts: [end('worker-b', 'eth0'), end('worker-c', 'eth0')] };

test('two namespaces are one cable', () => {
  const { ground, hosts } = wireLines([cable], () => false);
  expect(ground).toEqual([
    'link add home netns internet address 02:00:00:00:00:01 type veth peer name enp1s0 netns edge-a',
  ]);
  expect(hosts.size).toBe(0);
});

test("a machine's tap becomes the gateway's device", () => {
  const { ground, hosts } = wireLines([cable], () => true);
  expect(ground).toEqual([]);
  expect(hosts.get('internet')).toEqual(['link set home address 02:00:00:00:00:01']);
  expect(gatewayDevice(cable, 'edge-a')).toBe('home');
});

test('more than two hang on a bridge, machines by their taps', () => {
  const { ground, hosts } = wireLines([lan], (host) => host === 'worker-c');
  expect(ground).toEqual([
    'link add lan netns router address 02:00:00:00:00:01 type bridge',
    'link add eth0 netns worker-b type veth peer name lan.0 netns router',
  ]);
  expect(hosts.get('router')).toEqual(['link set lan.0 master lan up', 'link set lan.1 master lan up']);
  expect(gatewayDevice(lan, 'worker-c')).toBe('lan.1');
});
