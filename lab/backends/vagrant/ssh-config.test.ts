import { expect, test } from 'vitest';
import { parseSshConfig } from './ssh-config.ts';

const text = `Host edge-a
  HostName 192.168.121.10
  User vagrant
  Port 22
  UserKnownHostsFile /dev/null
  IdentityFile "/home/some one/.vagrant/machines/edge-a/libvirt/private_key"
  IdentitiesOnly yes

Host world
  HostName 127.0.0.1
  User vagrant
  Port 2201
  IdentityFile /key
`;

test('an entry for each machine, in the order asked for; a path may be quoted', () => {
  expect(parseSshConfig(text, ['world', 'edge-a'])).toEqual([
    { machine: 'world', address: '127.0.0.1', port: 2201, username: 'vagrant', privateKey: '/key' },
    {
      machine: 'edge-a',
      address: '192.168.121.10',
      port: 22,
      username: 'vagrant',
      privateKey: '/home/some one/.vagrant/machines/edge-a/libvirt/private_key',
    },
  ]);
});

test('a machine without an entry is named, with those that have one', () => {
  expect(() => parseSshConfig(text, ['worker-b'])).toThrow(
    '`vagrant ssh-config` has no machine worker-b: it has edge-a, world',
  );
});

test('what the ssh client cannot use is refused', () => {
  expect(() => parseSshConfig(`${text}  ProxyCommand ssh -W %h:%p host\n`, ['world'])).toThrow(
    /ProxyCommand .*cannot use/,
  );
  expect(() => parseSshConfig('Host a\n  HostName 10.0.0.1\n', ['a'])).toThrow(
    '`vagrant ssh-config` says no Port for a',
  );
});
