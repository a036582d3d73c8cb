/** Reads what `conntrack -L -o extended` prints, one entry a line. */

export interface ConntrackTuple {
  source: string;
  destination: string;
  /** Null for protocols without ports. */
  sourcePort: number | null;
  destinationPort: number | null;
}

export interface ConntrackEntry {
  family: 'ipv4' | 'ipv6';
  /** `udp`, `tcp`, `icmp`, ... */
  protocol: string;
  /** TCP's state, e.g. ESTABLISHED; null for other protocols. */
  state: string | null;
  /** Seconds until the kernel forgets the entry. */
  timeoutSeconds: number;
  original: ConntrackTuple;
  /** Addresses of an answer; differs from the mirrored original exactly where the flow is translated. */
  reply: ConntrackTuple;
  unreplied: boolean;
  assured: boolean;
  mark: number;
  /** The line as printed. */
  text: string;
}

/**
 * Parses the listing. Entries that are about to go (no timeout) are kept with 0 seconds.
 * @throws Error with the line when one is not a conntrack entry: a parser that skips lines makes tests that cannot fail.
 */
export function parseConntrack(listing: string): ConntrackEntry[] {
  return listing
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(parseLine);
}

function parseLine(line: string): ConntrackEntry {
  const words = line.trim().split(/\s+/);
  const [family, , protocol, , ...rest] = words;
  const pairs = rest.flatMap((word) => {
    const equals = word.indexOf('=');
    return equals > 0 ? [[word.slice(0, equals), word.slice(equals + 1)] as const] : [];
  });
  const replyStart = pairs.findIndex(([key], index) => key === 'src' && index > 0);
  if ((family !== 'ipv4' && family !== 'ipv6') || protocol === undefined || replyStart < 0) {
    throw new Error(`not a line of \`conntrack -L -o extended\`: ${line}`);
  }
  const beforePairs = rest.slice(
    0,
    rest.findIndex((word) => word.includes('=')),
  );
  return {
    family,
    protocol,
    state: beforePairs.find((word) => /^[A-Z_]+[0-9]?$/.test(word)) ?? null,
    timeoutSeconds: Number(beforePairs.find((word) => /^\d+$/.test(word)) ?? 0),
    original: tuple(new Map(pairs.slice(0, replyStart))),
    reply: tuple(new Map(pairs.slice(replyStart))),
    unreplied: rest.includes('[UNREPLIED]'),
    assured: rest.includes('[ASSURED]'),
    mark: Number(new Map(pairs).get('mark') ?? 0),
    text: line.trim(),
  };
}

function tuple(values: ReadonlyMap<string, string>): ConntrackTuple {
  const port = (key: string): number | null => (values.has(key) ? Number(values.get(key)) : null);
  return {
    source: values.get('src') ?? '',
    destination: values.get('dst') ?? '',
    sourcePort: port('sport'),
    destinationPort: port('dport'),
  };
}
