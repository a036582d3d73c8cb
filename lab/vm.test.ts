/**
 * A lab with one virtual machine, driven as a user drives it: its own kernel, commands with their exit status, and what is
 * said when the machine dies. Slow (half a minute under emulation): it boots a machine.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { labsFolder } from './backends/netns/state-folder.ts';
import { projectRoot } from './project.ts';

const name = `vm-test-${process.pid}`;
const lab = (...args: string[]) =>
  execa(process.execPath, [join(projectRoot, 'dist', 'lab.js'), ...args], { reject: false });

/** Processes of this machine's host whose command line holds `text`. */
function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

describe('bad input, before anything is built or booted', () => {
  test.each([
    [
      ['--machines', 'nobody'],
      /no node or control host is named "nobody": there are control, edge-a, edge-d, worker-b/,
    ],
    [['--machines', ','], /names no host: there are control/],
    [['--machines', 'client-a'], /no node or control host is named "client-a"/],
    [['--kernel', '5.10'], /Allowed choices are 6\.1, 6\.12, 7\.2/],
  ])('%j', async (args, message) => {
    const { exitCode, stderr, stdout } = await lab('up', '--backend', 'vm', '--name', `${name}-bad`, ...args);
    expect(stderr + stdout).toMatch(message);
    expect(exitCode).toBe(2);
    expect(processesWith(`${name}-bad`)).toEqual([]);
  });
});

describe('one machine', () => {
  beforeAll(async () => {
    const { all, exitCode } = await execa(
      process.execPath,
      [
        join(projectRoot, 'dist', 'lab.js'),
        ...['up', '--backend', 'vm', '--machines', 'edge-a', '--no-agents', '--name', name],
      ],
      { reject: false, all: true },
    );
    expect(exitCode, all).toBe(0);
  }, 400_000);
  afterAll(async () => {
    await lab('down', '--name', name);
  }, 30_000);

  test('it runs a kernel of its own, with WireGuard in it, and the other nodes run this one', async () => {
    const { stdout } = await lab('status', '--json', '--name', name);
    const { versions, hosts, backend } = JSON.parse(stdout) as {
      backend: string;
      hosts: { name: string; substance: string }[];
      versions: { host: string; kernel: string; wireguard: string }[];
    };
    expect(backend).toBe('vm');
    expect(hosts.filter((host) => host.substance === 'machine').map((host) => host.name)).toEqual(['edge-a']);
    const machine = versions.find((each) => each.host === 'edge-a');
    expect(machine?.kernel).toMatch(/^6\.12\..*-cloud-amd64$/);
    expect(machine?.wireguard).toMatch(/^kernel /);
    const own = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim();
    expect(versions.find((each) => each.host === 'worker-b')?.kernel).toBe(own);
  });

  test('commands run on it with their output, input and exit status', async () => {
    const { stdout, exitCode } = await lab('exec', '--name', name, 'edge-a', '--', 'sh', '-c', 'hostname; exit 7');
    expect([stdout, exitCode]).toEqual(['edge-a', 7]);
    const { stdout: address } = await lab('exec', '--name', name, 'edge-a', '--', 'ip', '-brief', 'address');
    expect(address).toMatch(/enp1s0 +UP +203\.0\.113\.9\/26/);
    expect(address).not.toContain('eth0');
  });

  test('its wires reach the internet, its mesh the control host', async () => {
    const { exitCode, stdout } = await lab('exec', '--name', name, 'client-a', '--', 'ping', '-c1', '203.0.113.9');
    expect(exitCode, stdout).toBe(0);
    const mesh = await lab('exec', '--name', name, 'edge-a', '--', 'ping', '-c1', '100.64.93.140');
    expect(mesh.exitCode, mesh.stdout).toBe(0);
  });

  test('when it dies, what is asked of it fails at once and says what it printed last; the lab goes down whole', async () => {
    const [qemu] = processesWith(join(labsFolder(), name, 'edge-a.qmp'));
    expect(qemu).toBeDefined();
    process.kill(qemu ?? 0, 'SIGKILL');
    const { stderr, exitCode } = await lab('probe', '--name', name, 'edge-a', 'udp://203.0.113.73:3000');
    expect(stderr).toMatch(/edge-a: .*machine|edge-a: its station ended/);
    expect(stderr).toContain('its console ended with');
    expect(stderr).toContain('lab: edge-a is set up');
    expect(exitCode).toBe(2);
    const down = await lab('down', '--name', name);
    expect(down.exitCode, down.stderr).toBe(0);
    expect(processesWith(join(labsFolder(), name))).toEqual([]);
    expect(readdirSync(labsFolder())).not.toContain(name);
  });
});
