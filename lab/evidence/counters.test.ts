import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConntrack } from './conntrack-entries.ts';
import { compare, difference, packetsBetween, snapshotCounters } from './counters.ts';
import { type NamespaceHost, openNamespaceHost } from './testing/namespace-host.ts';

/** The shapes kuport uses: a map with counted elements, ranges, a counted set, rules with and without comment. */
const RULESET = `
table ip kuport {
  counter dropped { }
  map ports {
    type ifname . inet_proto . inet_service : ipv4_addr . inet_service
    counter
    elements = { "wan" . udp . 3000 counter comment "games/echo" : 10.0.0.1 . 3001 }
  }
  map ranges {
    type ifname . inet_proto . inet_service : ipv4_addr
    flags interval
    counter
    elements = { "wan" . udp . 3100-3200 counter comment "games/range" : 10.0.0.1 }
  }
  set mapped {
    type inet_proto . inet_service
    counter
    elements = { udp . 3000 counter comment "games/echo" }
  }
  chain kup-pre {
    type nat hook prerouting priority dstnat - 10
    dnat ip to iifname . meta l4proto . th dport map @ports
  }
  chain kup-mangle {
    type filter hook prerouting priority mangle + 10
    meta l4proto . th dport @mapped
    udp dport 3100-3200 counter comment "twice"
    udp dport 3150 counter comment "twice"
    udp dport 3150 counter name dropped drop
    meta l4proto udp counter meta mark set 0x6b700001
    tcp dport 1 counter comment "never"
  }
}
`;

/** The client's end of the wire, as a named namespace: what one host sends itself over lo skips nat prerouting. */
const WIRE = [
  'link add wan type veth peer name eth0 netns client',
  'address add 10.0.0.1/24 dev wan',
  'link set wan up',
];
const CLIENT = ['address add 10.0.0.2/24 dev eth0', 'link set eth0 up'];

/** Sends datagrams of 100 bytes (IP and UDP header included) from one port, so that a flow is one flow. */
const datagrams = (port: number, count: number): string[] => [
  ...['ip', 'netns', 'exec', 'client', process.execPath, '-e'],
  `const s = require('dgram').createSocket('udp4'); s.bind(45000, async () => {
     for (let i = 0; i < ${count}; i++) await new Promise((done) => s.send('x'.repeat(72), ${port}, '10.0.0.1', done));
     s.close(); });`,
];

describe('counters of a real kernel', () => {
  let host: NamespaceHost;
  beforeAll(async () => {
    host = await openNamespaceHost('edge-a');
    await host.exec(['sh', '-c', 'mount -t tmpfs none /run && ip netns add client']);
    await host.exec(['ip', '-batch', '-'], { input: WIRE.join('\n') });
    await host.exec(['ip', '-n', 'client', '-batch', '-'], { input: CLIENT.join('\n') });
    await host.exec(['nft', '-f', '-'], { input: RULESET });
    // A link with the name of kuport's, to a peer that is not there: what is sent shows on the device all the same.
    await host.exec(['ip', '-batch', '-'], {
      input: [
        'link add kup-01234567 type vxlan id 4242 local 10.0.0.1 remote 10.0.0.2 dstport 4790',
        'address add 169.254.77.0/31 dev kup-01234567',
        'link set kup-01234567 up',
        'neigh add 169.254.77.1 lladdr 02:00:00:00:00:01 dev kup-01234567',
      ].join('\n'),
    });
  });
  afterAll(() => host.close());

  it('counts per element, set, rule, named counter and link, and finds the conntrack entry', async () => {
    const before = await snapshotCounters(host);
    await host.exec(datagrams(3000, 3));
    await host.exec(datagrams(3150, 2));
    await host.exec(['ping', '-c', '2', '-i', '0.2', '-W', '0.2', '169.254.77.1'], { allowFailure: true });
    const after = await snapshotCounters(host);

    const moved = difference(before, after);
    expect(moved.host).toBe('edge-a');
    const rows = moved.rows.map(({ kind, place, subject, before: from, after: to }) => ({
      where: `${kind}: ${place}: ${subject}`,
      packets: to.packets - from.packets,
      bytes: to.bytes === null ? null : to.bytes - (from.bytes ?? 0),
    }));
    // A nat map counts connections (3 datagrams, one flow), a filter chain packets of 100 bytes.
    expect(rows).toContainEqual({
      where: 'element: ip kuport @ports: wan . udp . 3000 (games/echo)',
      packets: 1,
      bytes: 100,
    });
    expect(rows).toContainEqual({
      where: 'element: ip kuport @mapped: udp . 3000 (games/echo)',
      packets: 3,
      bytes: 300,
    });
    expect(rows).toContainEqual({ where: 'rule: ip kuport kup-mangle: twice', packets: 2, bytes: 200 });
    expect(rows).toContainEqual({ where: 'rule: ip kuport kup-mangle: twice (2)', packets: 2, bytes: 200 });
    expect(rows).toContainEqual({ where: 'named counter: ip kuport: dropped', packets: 2, bytes: 200 });
    expect(rows).toContainEqual({
      where: 'rule: ip kuport kup-mangle: meta l4proto udp meta mark set 0x6b700001',
      packets: expect.any(Number),
      bytes: expect.any(Number),
    });
    expect(packetsBetween(before, after, { kind: 'link', place: /^kup-/, subject: 'sent' })).toBeGreaterThanOrEqual(2);
    expect(rows.map((row) => row.where)).not.toContain('rule: ip kuport kup-mangle: never');

    const entry = after.conntrack.find((each) => each.original.destinationPort === 3000);
    expect(entry).toMatchObject({
      family: 'ipv4',
      protocol: 'udp',
      state: null,
      original: { source: '10.0.0.2', destination: '10.0.0.1', sourcePort: 45000, destinationPort: 3000 },
      reply: { source: '10.0.0.1', destination: '10.0.0.2', sourcePort: 3001, destinationPort: 45000 },
      unreplied: true,
      assured: false,
      mark: 0,
    });
    expect(entry?.timeoutSeconds).toBeGreaterThan(0);
  });

  it('keeps the text of a commented rule, and shows what did not move in the full comparison', async () => {
    const snapshot = await snapshotCounters(host);
    const rows = compare(snapshot, snapshot);
    expect(rows.find((row) => row.subject === 'never')).toMatchObject({ kind: 'rule', text: 'tcp dport 1' });
    expect(rows.map((row) => row.subject)).toContain('wan . udp . 3100-3200 (games/range)');
    expect(difference(snapshot, snapshot).rows).toEqual([]);
    expect(packetsBetween(snapshot, snapshot, { subject: 'never' })).toBe(0);
  });

  it('refuses to say that a counter which is not there did not move', async () => {
    const snapshot = await snapshotCounters(host);
    expect(() => packetsBetween(snapshot, snapshot, { subject: 'games/other' })).toThrow(
      /edge-a: no counter with subject games\/other; there are counters in: .*ip kuport kup-mangle/,
    );
  });

  it('counts a rule that went away as zero afterwards', async () => {
    const before = await snapshotCounters(host);
    await host.exec(['nft', 'delete', 'table', 'ip', 'kuport']);
    const rows = difference(before, await snapshotCounters(host)).rows;
    await host.exec(['nft', '-f', '-'], { input: RULESET });
    expect(rows.find((row) => row.subject === 'twice')?.after).toEqual({ packets: 0, bytes: 0 });
  });

  it('fails with host, command and stderr when a command fails there', async () => {
    const broken = {
      name: 'edge-a',
      exec: (argv: readonly string[], options = {}) => host.exec(argv, { ...options, env: { PATH: '/bin-of-nobody' } }),
    };
    await expect(snapshotCounters(broken)).rejects.toThrow(/edge-a/);
  });
});

describe('conntrack lines', () => {
  it('reads TCP with state, marks and both directions', () => {
    const line =
      'ipv4     2 tcp      6 431999 ESTABLISHED src=198.51.100.7 dst=203.0.113.9 sport=40001 dport=3000 ' +
      'src=169.254.77.3 dst=198.51.100.7 sport=3000 dport=40001 [ASSURED] mark=1802502145 use=1';
    expect(parseConntrack(`${line}\n`)).toEqual([
      {
        family: 'ipv4',
        protocol: 'tcp',
        state: 'ESTABLISHED',
        timeoutSeconds: 431_999,
        original: { source: '198.51.100.7', destination: '203.0.113.9', sourcePort: 40001, destinationPort: 3000 },
        reply: { source: '169.254.77.3', destination: '198.51.100.7', sourcePort: 3000, destinationPort: 40001 },
        unreplied: false,
        assured: true,
        mark: 0x6b70_0001,
        text: line,
      },
    ]);
  });

  it('reads ICMP, which has no ports', () => {
    const line =
      'ipv4     2 icmp     1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=7 src=10.0.0.2 dst=10.0.0.1 type=0 code=0 id=7 mark=0 use=1';
    expect(parseConntrack(line)[0]).toMatchObject({ protocol: 'icmp', original: { sourcePort: null } });
  });

  it('does not pass over a line it cannot read', () => {
    expect(() => parseConntrack('conntrack v1.4.7: Operation failed')).toThrow(/not a line of `conntrack/);
  });
});
