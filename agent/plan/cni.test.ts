import { expect, test } from 'vitest';
import { cniTunnelPort, hostBypass } from './cni.ts';

/** The four clusters these rules were run on, and what became of replies there. */
test.each<[string, Record<string, string>, boolean]>([
  [
    'minimal, default with kube-proxy',
    { 'kube-proxy-replacement': 'false', 'enable-bpf-masquerade': 'false', 'enable-ipv4-masquerade': 'true' },
    false,
  ],
  ['kube-proxy replacement', { 'kube-proxy-replacement': 'true', 'enable-ipv4-masquerade': 'true' }, false],
  ['BPF masquerade', { 'kube-proxy-replacement': 'true', 'enable-bpf-masquerade': 'true' }, true],
  [
    'BPF masquerade with legacy host routing',
    { 'kube-proxy-replacement': 'true', 'enable-bpf-masquerade': 'true', 'enable-host-legacy-routing': 'true' },
    false,
  ],
  [
    'no masquerade at all',
    {
      'kube-proxy-replacement': 'true',
      'enable-host-legacy-routing': 'false',
      'enable-ipv4-masquerade': 'false',
      'enable-ipv6-masquerade': 'false',
    },
    true,
  ],
  ['no masquerade of IPv4 alone', { 'kube-proxy-replacement': 'true', 'enable-ipv4-masquerade': 'false' }, false],
])('%s: whether replies bypass the host', (_, config, bypasses) => {
  expect(hostBypass(config) !== null).toBe(bypasses);
});

test('without a configuration nothing is assumed', () => {
  expect(hostBypass()).toBeNull();
  expect(cniTunnelPort()).toBe(8472);
});

test.each<[Record<string, string>, number]>([
  [{ 'tunnel-protocol': 'vxlan' }, 8472],
  [{ 'tunnel-protocol': 'vxlan', 'tunnel-port': '0' }, 8472],
  [{ 'tunnel-protocol': 'geneve' }, 6081],
  [{ 'tunnel-port': '8473' }, 8473],
  [{ 'tunnel-port': 'nonsense' }, 8472],
])('tunnel port of %j', (config, port) => expect(cniTunnelPort(config)).toBe(port));
