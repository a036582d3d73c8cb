import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { projectRoot } from '../../project.ts';
import { topologyFile, vagrantCommand } from './vagrant-command.ts';

/** Vagrant is a Ruby program that loads every plugin: two seconds a call on an idle machine. */
const vagrantMs = 60_000;

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kuport-vagrant-'));
  const topology = readFileSync(join(projectRoot, 'lab', 'topologies', 'home-edge.yaml'), 'utf8');
  writeFileSync(topologyFile(folder), JSON.stringify(parse(topology)));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Vagrant itself, as the lab calls it. Nothing is booted. */
async function vagrant(machines: readonly string[], ...args: string[]) {
  const { argv, env } = vagrantCommand({ lab: 'test', folder, provider: 'libvirt', machines }, ...args);
  const [program = '', ...rest] = argv;
  return execa(program, rest, {
    env: { ...env, VAGRANT_HOME: join(folder, 'home') },
    all: true,
    reject: false,
  });
}

test(
  'Vagrant takes the Vagrantfile for what it is: all of the topology',
  async () => {
    const machines = ['control', 'edge-a', 'edge-d', 'worker-b', 'worker-c'];
    const { exitCode, all } = await vagrant(machines, 'validate');
    expect(all).toContain('Vagrantfile validated successfully.');
    expect(exitCode).toBe(0);
  },
  vagrantMs,
);

test(
  'the machines that were asked for, and the one that holds the rest',
  async () => {
    const { all, exitCode } = await vagrant(['edge-a', 'worker-b'], 'status', '--machine-readable');
    expect(exitCode, all).toBe(0);
    const names = (all ?? '').split('\n').flatMap((line) => /^\d+,([^,]+),provider-name,libvirt/.exec(line)?.[1] ?? []);
    expect(names).toEqual(['edge-a', 'worker-b', 'world']);
  },
  vagrantMs,
);

test(
  'a machine that the topology does not have is refused by its name',
  async () => {
    const { all, exitCode } = await vagrant(['edge-a', 'worker-x'], 'validate');
    expect(exitCode).not.toBe(0);
    expect(all).toContain('has no node worker-x');
  },
  vagrantMs,
);
