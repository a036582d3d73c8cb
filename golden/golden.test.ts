import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CommandLine } from '../agent/testing/command-line.ts';
import { goldenCases, goldenFolder, renderCase } from './golden-case.ts';

let command: CommandLine;

beforeAll(async () => {
  command = await CommandLine.build();
});

afterAll(() => command.remove());

/** Runs a script with the text as its input in a network namespace of its own, as root or not. */
function inNamespace(script: string, input: string): string {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  return execFileSync('unshare', [...user, '--net', 'sh', '-c', script], { input, encoding: 'utf8' });
}

describe.each(goldenCases())('golden case %s', (name) => {
  const folder = join(goldenFolder, name);
  const rendered = renderCase(name);

  test('renders to its files; `make golden` rewrites them', () => {
    const kept = readdirSync(folder).filter((file) => file !== 'manifests.yaml');
    expect([...rendered.keys()].sort()).toEqual(kept.sort());
    for (const [file, text] of rendered) expect(text, file).toBe(readFileSync(join(folder, file), 'utf8'));
  });

  test('`kuport-agent render` prints the same for each node', () => {
    const manifests = join(folder, 'manifests.yaml');
    const nodes = [...new Set([...rendered.keys()].flatMap((file) => /^(.+)\.(?:nft|ip)$/.exec(file)?.[1] ?? []))];
    // A case in which no node holds anything: that of an accepting node stands for all.
    for (const node of nodes.length === 0 ? ['edge-a'] : nodes) {
      const { stdout, stderr } = command.inNamespace(`kuport_agent render -f '${manifests}' --node ${node}`);
      expect(stderr).toBe('');
      const nft = rendered.get(`${node}.nft`) ?? 'add table ip kuport\ndelete table ip kuport\n';
      expect(stdout).toBe(`# nft -f -\n${nft}\n# ip -batch -\n${rendered.get(`${node}.ip`) ?? ''}`);
    }
  });

  const texts = (ending: string): [string, string][] => [...rendered].filter(([file]) => file.endsWith(ending));

  test.each(texts('.nft'))('%s loads into the kernel, twice', (_, text) => {
    const shown = inNamespace(
      'rules=$(cat); echo "$rules" | nft -f - && echo "$rules" | nft -f - && nft list table ip kuport',
      text,
    );
    for (const line of text.match(/comment "[^"]+"/g) ?? []) expect(shown).toContain(line);
  });

  test.each(texts('.ip'))('%s is taken by ip -batch where the underlay is there', (file, text) => {
    const local = new Set(text.match(/(?<= local )[\d.]+/g) ?? []);
    const setUp = ['ip link set lo up', ...[...local].map((address) => `ip addr add ${address}/32 dev lo`)].join('; ');
    const shown = inNamespace(
      `${setUp}; ip -batch - && ip rule && ip -brief link && ip route show table all proto 107`,
      text,
    );
    for (const device of text.match(/(?<=link add )kup-[0-9a-f]{8}/g) ?? []) expect(shown, file).toContain(device);
    for (const mark of text.match(/(?<=fwmark )0x[0-9a-f]+/g) ?? []) expect(shown, file).toContain(mark);
  });
});
