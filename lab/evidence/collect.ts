/**
 * The evidence of a failure: what every host held at that moment, as files a person can read and tools can load again.
 * It must work when the lab is half broken, since that is when it is wanted: a host that is gone leaves a file saying so.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Host } from '../backends/host.ts';
import { type Section, type SectionOutput, sectionScript, splitSections } from './sections.ts';

export interface EvidenceSource {
  host: Pick<Host, 'name' | 'exec' | 'readLog'>;
  /** Names of logs that `spawn` wrote on this host: the agent's, wireguard-go's, tcpdump's. */
  logs?: readonly string[];
  /** Captures on this host, by path there. */
  captures?: readonly string[];
}

export interface CollectedEvidence {
  /** The folder relative to the report's, with slashes: goes into ScenarioResult.evidenceFolder. */
  folder: string;
  files: number;
  /** What could not be had, as `host: reason`. */
  gaps: string[];
}

interface EvidenceFile {
  file: string;
  about: string;
  command: string;
}

const TEXTS: readonly EvidenceFile[] = [
  { file: 'ruleset.nft', about: 'all nftables rules, sets and counters', command: 'nft list ruleset' },
  { file: 'iptables.txt', about: 'iptables rules with counters', command: 'iptables-save -c' },
  { file: 'rules.txt', about: 'routing policy (ip rule)', command: 'ip rule show' },
  { file: 'routes.txt', about: 'routes of all tables', command: 'ip route show table all' },
  { file: 'links.txt', about: 'devices with their statistics', command: 'ip -d -s link show' },
  { file: 'addresses.txt', about: 'addresses', command: 'ip -d address show' },
  { file: 'neighbours.txt', about: 'neighbour tables', command: 'ip neigh show' },
  { file: 'fdb.txt', about: 'forwarding databases of bridges and vxlan devices', command: 'bridge fdb show' },
  { file: 'conntrack.txt', about: 'connection tracking entries', command: 'conntrack -L -o extended,id' },
  {
    file: 'wireguard.txt',
    about: 'WireGuard peers, handshakes and transfer',
    command: 'WG_HIDE_KEYS=always wg show all',
  },
  {
    file: 'sysctl.txt',
    about: 'net.ipv4.conf and forwarding',
    command: 'sysctl -a -r "^net[.]ipv4[.](conf[.]|ip_forward)"',
  },
  { file: 'nstat.txt', about: "the kernel's network counters since boot", command: 'nstat -asz' },
  { file: 'sockets.txt', about: 'listening and bound sockets', command: 'ss -tulnp' },
];

/** Bytes taken of one capture, and of one log. */
const LARGEST_CAPTURE = 8 << 20;
const LARGEST_LOG = 1 << 20;
/** Hosts asked at a time: more makes two cores no faster. */
const AT_A_TIME = 4;

/**
 * Writes `<reportFolder>/evidence/<scenario>/<host>/...` and an index.txt that names what is where.
 * @param scenario the scenario's name such as `single/cross-node`, or `set-up` for the lab itself
 * @throws Error when a name would leave the evidence folder, or the folder cannot be written; never for what a host does
 */
export async function collectEvidence(
  reportFolder: string,
  scenario: string,
  sources: readonly EvidenceSource[],
): Promise<CollectedEvidence> {
  const folder = ['evidence', ...scenario.split('/').map(safeName)].join('/');
  const target = join(reportFolder, folder);
  await mkdir(target, { recursive: true });

  const index: { path: string; about: string }[] = [];
  const gaps: string[] = [];
  const waiting = [...sources];
  const worker = async (): Promise<void> => {
    for (let source = waiting.shift(); source !== undefined; source = waiting.shift()) {
      const found = await collectHost(source);
      for (const { path, about, content } of found.files) {
        await mkdir(dirname(join(target, path)), { recursive: true });
        await writeFile(join(target, path), content);
        index.push({ path, about });
      }
      gaps.push(...found.gaps.map((gap) => `${source.host.name}: ${gap}`));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));

  index.sort((one, other) => (one.path < other.path ? -1 : 1));
  await writeFile(join(target, 'index.txt'), indexText(scenario, index, gaps));
  return { folder, files: index.length, gaps: gaps.sort() };
}

interface HostEvidence {
  files: { path: string; about: string; content: string | Buffer }[];
  gaps: string[];
}

async function collectHost(source: EvidenceSource): Promise<HostEvidence> {
  const { host } = source;
  const folder = safeName(host.name);
  const evidence: HostEvidence = { files: [], gaps: [] };
  const captures = (source.captures ?? []).map((path, index) => ({ path, section: `capture-${index}` }));

  const sections: Section[] = [
    ...TEXTS.map(({ file, command }) => ({ name: file, command: `${command} 2>&1` })),
    ...captures.map(({ path, section }) => ({
      name: section,
      // Base64, since the way back from a host carries text.
      command: `[ -r ${quote(path)} ] && head -c ${LARGEST_CAPTURE} ${quote(path)} | base64 -w 0`,
    })),
  ];
  try {
    const result = await host.exec(['sh', '-s'], {
      input: sectionScript(sections),
      timeoutMs: 20_000,
      allowFailure: true,
    });
    const outputs = splitSections(result.stdout);
    if (outputs.size === 0) throw new Error(`sh exited ${result.code}: ${result.stderr.trim() || 'no output'}`);
    for (const { file, about, command } of TEXTS) {
      const output = outputs.get(file);
      evidence.files.push({ path: `${folder}/${file}`, about, content: textFile(host.name, command, output) });
      if (output?.code !== 0) evidence.gaps.push(`\`${command}\` exited ${output?.code ?? 'before it began'}`);
    }
    for (const { path, section } of captures) {
      const output = outputs.get(section);
      const name = safeName(path.split('/').at(-1) ?? section);
      if (output?.code !== 0) evidence.gaps.push(`capture ${path} is not there`);
      else {
        const content = Buffer.from(output.stdout, 'base64');
        evidence.files.push({ path: `${folder}/${name}`, about: 'packets (open with Wireshark)', content });
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    evidence.gaps.push(`gone: ${reason.split('\n')[0]}`);
    const about = 'why there is nothing from this host';
    evidence.files.push({ path: `${folder}/unreachable.txt`, about, content: `${host.name}\n${reason}\n` });
  }

  // Logs are apart from the script: the lab holds them, and they can still be read when the host itself is gone.
  for (const log of source.logs ?? []) {
    try {
      const content = withoutKeys(await host.readLog(log, LARGEST_LOG));
      evidence.files.push({ path: `${folder}/${safeName(log)}.log`, about: `log of ${log}`, content });
    } catch (error) {
      evidence.gaps.push(`log ${log}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
    }
  }
  return evidence;
}

/** A first line as a comment, which nft and iptables-restore skip when the file is loaded again. */
function textFile(host: string, command: string, output: SectionOutput | undefined): string {
  const exit = output?.code === 0 ? '' : ` (exited ${output?.code ?? 'before it began'})`;
  return `# ${host}: ${command}${exit}\n${withoutKeys(output?.stdout ?? '')}`;
}

/** Private and preshared keys out of whatever a tool or a log printed; WG_HIDE_KEYS is a request, this is the lock. */
export function withoutKeys(text: string): string {
  return text.replaceAll(/((?:private|preshared)[ _-]?key["']?\s*[:=]\s*["']?)(?!\(hidden\))[^\s"',]+/gi, '$1(hidden)');
}

function indexText(
  scenario: string,
  index: readonly { path: string; about: string }[],
  gaps: readonly string[],
): string {
  const width = Math.max(0, ...index.map(({ path }) => path.length));
  return [
    `Evidence of ${scenario}: what the hosts held when it failed.`,
    '',
    ...index.map(({ path, about }) => `${path.padEnd(width)}  ${about}`),
    ...(gaps.length > 0 ? ['', 'Could not be had:', ...gaps.map((gap) => `  ${gap}`)] : []),
    '',
  ].join('\n');
}

/** @throws Error for a name that is no plain file name. */
function safeName(name: string): string {
  if (!/^[\w@:+-][\w@:+.-]*$/.test(name)) {
    throw new Error(
      `evidence: ${JSON.stringify(name)} cannot be a folder's name: letters, digits, and - . _ @ : + only`,
    );
  }
  return name;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
