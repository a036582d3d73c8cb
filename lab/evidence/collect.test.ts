import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CollectedEvidence, collectEvidence, withoutKeys } from './collect.ts';
import { sectionScript, splitSections } from './sections.ts';
import { type NamespaceHost, openNamespaceHost } from './testing/namespace-host.ts';

describe('collectEvidence', () => {
  let report: string;
  let host: NamespaceHost;
  let gone: NamespaceHost;
  let evidence: CollectedEvidence;
  const packets = Buffer.from([0xd4, 0xc3, 0xb2, 0xa1, 0x00, 0xff, 0x0a, 0x80]);

  beforeAll(async () => {
    report = await mkdtemp(join(tmpdir(), 'kuport-evidence-'));
    host = await openNamespaceHost('worker-b', { agent: 'level=info PrivateKey = abcdef=\nready\n' });
    gone = await openNamespaceHost('edge-a', { agent: 'last words\n' });
    await host.exec(['nft', 'add', 'table', 'ip', 'kuport']);
    await host.exec(['ip', 'rule', 'add', 'pref', '102', 'fwmark', '0x6b700001', 'lookup', '201']);
    await host.exec(['sh', '-c', 'mount -t tmpfs none /mnt && base64 -d > /mnt/wt0.pcap'], {
      input: packets.toString('base64'),
    });
    await gone.close();
    evidence = await collectEvidence(report, 'single/cross-node', [
      { host, logs: ['agent', 'missing'], captures: ['/mnt/wt0.pcap', '/mnt/none.pcap'] },
      { host: gone, logs: ['agent'] },
    ]);
  });
  afterAll(async () => {
    await host.close();
    await rm(report, { recursive: true, force: true });
  });
  const read = (file: string): Promise<string> => readFile(join(report, evidence.folder, file), 'utf8');

  it('holds what the kernel held', async () => {
    expect(evidence.folder).toBe('evidence/single/cross-node');
    expect(await read('worker-b/ruleset.nft')).toMatch(/^# worker-b: nft list ruleset\ntable ip kuport \{/);
    expect(await read('worker-b/rules.txt')).toContain('102:\tfrom all fwmark 0x6b700001 lookup 201');
    expect(await read('worker-b/sysctl.txt')).toContain('net.ipv4.conf.all.rp_filter = ');
    expect(await read('worker-b/addresses.txt')).toContain('127.0.0.1/8');
    expect(await read('worker-b/nstat.txt')).toContain('TcpExtIPReversePathFilter');
    expect(await readFile(join(report, evidence.folder, 'worker-b/wt0.pcap'))).toEqual(packets);
  });

  it('a saved ruleset can be loaded again', async () => {
    const ruleset = await read('worker-b/ruleset.nft');
    await host.exec(['nft', 'flush', 'ruleset']);
    await host.exec(['nft', '-f', '-'], { input: ruleset });
    expect((await host.exec(['nft', 'list', 'tables'])).stdout).toBe('table ip kuport\n');
  });

  it('says why a host that is gone has nothing to show, and still keeps its log', async () => {
    expect(await read('edge-a/unreachable.txt')).toMatch(/^edge-a\n.+/);
    expect(await read('edge-a/agent.log')).toBe('last words\n');
    expect(evidence.gaps.join('\n')).toMatch(/edge-a: gone: /);
  });

  it('names what is missing, and nothing that is not', async () => {
    expect(evidence.gaps.filter((gap) => gap.startsWith('worker-b'))).toEqual([
      'worker-b: capture /mnt/none.pcap is not there',
      'worker-b: log missing: worker-b: no log missing',
    ]);
    const index = await read('index.txt');
    expect(index).toContain('worker-b/conntrack.txt');
    expect(index).toContain('Could not be had:\n  edge-a: gone: ');
  });

  it('hides keys', async () => {
    expect(await read('worker-b/agent.log')).toBe('level=info PrivateKey = (hidden)\nready\n');
    expect(withoutKeys('private key: (hidden)\n')).toBe('private key: (hidden)\n');
    expect(withoutKeys('  preshared key: c2VjcmV0\n  public key: cHVibGlj\n')).toBe(
      '  preshared key: (hidden)\n  public key: cHVibGlj\n',
    );
    expect(withoutKeys('{"privateKey":"c2Vj="}')).toBe('{"privateKey":"(hidden)"}');
  });

  it.each(['../outside', 'a//b', '/etc', '.hidden'])('refuses the scenario name %s', async (name) => {
    await expect(collectEvidence(report, name, [])).rejects.toThrow(/cannot be a folder's name/);
  });
});

describe('sections', () => {
  it('keeps outputs and exit codes apart, and knows one that was cut short', async () => {
    const host = await openNamespaceHost('one');
    const script = sectionScript([
      { name: 'a', command: 'echo one; echo two' },
      { name: 'b', command: 'exit 3' },
      { name: 'c', command: 'echo three' },
    ]);
    const { stdout } = await host.exec(['sh', '-s'], { input: script });
    await host.close();
    expect([...splitSections(stdout)]).toEqual([
      ['a', { stdout: 'one\ntwo\n', code: 0 }],
      ['b', { stdout: '', code: 3 }],
      ['c', { stdout: 'three\n', code: 0 }],
    ]);
    const cut = stdout.slice(0, stdout.indexOf('three') + 2);
    expect(splitSections(cut).get('c')).toEqual({ stdout: 'th', code: -1 });
  });
});
