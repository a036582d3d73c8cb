/** The built station in a namespace of its own: what it reports about the network, held against what the kernel did. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../wait.ts';
import type { EchoServerRequest, ProbeRequest, ProbeResult, StationOperation } from './protocol.ts';
import { isRunning, type OpenStation, openStation } from './testing/open-station.ts';

let station: OpenStation;
beforeAll(async () => {
  station = await openStation('station-test');
});
afterAll(() => station.close());

/** A packet for this address has 127.0.0.1 as its source: the two ends of an exchange differ. */
const address = '127.0.0.9';

/** An echo responder for as long as `during` takes. */
async function withEcho<Result>(
  wanted: Partial<EchoServerRequest>,
  during: (server: number) => Promise<Result>,
): Promise<Result> {
  const request: EchoServerRequest = { protocol: 'UDP', address, port: 7000, pod: 'echo-0', node: 'here', ...wanted };
  const { server } = await station.client.request('echoStart', request);
  try {
    return await during(server);
  } finally {
    await station.client.request('echoStop', { server });
  }
}

const probe = (wanted: Partial<ProbeRequest> = {}): Promise<ProbeResult> =>
  station.client.request('probe', { protocol: 'UDP', address, port: 7000, timeoutMs: 2000, ...wanted });

const sightings = async (server: number) => (await station.client.request('echoSightings', { server })).sightings;

/** Packets and bytes of the namespace's only rule with a counter. */
async function counted(): Promise<{ packets: number; bytes: number }> {
  const match = /counter packets (\d+) bytes (\d+)/.exec(await station.shell('nft list ruleset'));
  return { packets: Number(match?.[1]), bytes: Number(match?.[2]) };
}

const chain = (hook: 'input' | 'output', rule: string): string => `table ip test {
  chain rules {
    type filter hook ${hook} priority 0;
    ${rule}
  }
}`;

describe('an exchange', () => {
  test.each(['UDP', 'TCP'] as const)('%s: both ends report the addresses and ports that were used', (protocol) =>
    withEcho({ protocol }, async (server) => {
      const result = await probe({ protocol, sourcePort: 40_001 });
      expect(result).toMatchObject({ outcome: 'answered', sourcePort: 40_001, from: address, fromPort: 7000 });
      expect(result.reply).toEqual({
        ...{ id: result.id, peer: '127.0.0.1', peerPort: 40_001, port: 7000, pod: 'echo-0', node: 'here' },
        received: expect.any(Number),
      });
      expect(await sightings(server)).toMatchObject([
        { id: result.id, protocol, peer: '127.0.0.1', peerPort: 40_001, port: 7000 },
      ]);
      expect(await sightings(server)).toEqual([]);
    }),
  );

  test('a source port that the kernel chose is the one the responder saw', () =>
    withEcho({}, async () => {
      const { sourcePort, reply } = await probe();
      expect(sourcePort).toBeGreaterThan(1023);
      expect(reply?.peerPort).toBe(sourcePort);
    }));

  test.each(['UDP', 'TCP'] as const)(
    '%s: a silent responder sees what it does not answer, and the time-out holds',
    (protocol) =>
      withEcho({ protocol, silent: true }, async (server) => {
        const begin = performance.now();
        const result = await probe({ protocol, timeoutMs: 300 });
        const waited = performance.now() - begin;
        expect(result).toMatchObject({ outcome: 'timeout', from: null, reply: null, roundTripMs: null });
        // Timers may fire a millisecond early.
        expect(waited).toBeGreaterThan(298);
        expect(waited).toBeLessThan(1000);
        expect(await sightings(server)).toMatchObject([{ id: result.id }]);
      }),
  );

  test('a delayed answer takes that long', () =>
    withEcho({ delayMs: 250 }, async () => {
      const { roundTripMs } = await probe();
      expect(roundTripMs).toBeGreaterThan(248);
      expect(roundTripMs).toBeLessThan(1000);
    }));

  test.each(['UDP', 'TCP'] as const)(
    '%s: an answer due after its responder was stopped is not given',
    async (protocol) => {
      const late = await withEcho({ protocol, delayMs: 200 }, async () => {
        const asked = probe({ protocol, timeoutMs: 400 });
        await sleep(100);
        return { asked };
      });
      expect((await late.asked).outcome).not.toBe('answered');
      expect(await station.client.request('ping', {})).toMatchObject({ node: process.version });
    },
  );

  test.each([
    ['UDP', 500],
    ['UDP', 1400],
    ['UDP', 4000],
    ['TCP', 4000],
    ['TCP', 60_000],
  ] as const)('%s: %i bytes there, and as many back on the wire', (protocol, size) =>
    withEcho({ protocol }, () =>
      station.withRules(chain('input', `${protocol.toLowerCase()} sport 7000 counter`), async () => {
        const small = await probe({ protocol, size });
        expect(small.reply?.received).toBe(size);
        expect((await counted()).bytes).toBeLessThan(500);
        const large = await probe({ protocol, replySize: size });
        expect(large.reply?.received).toBeLessThan(200);
        const { bytes } = await counted();
        if (protocol === 'UDP') expect(bytes).toBe(28 + answerBytes(small) + 28 + size);
        else expect(bytes).toBeGreaterThan(size);
      }),
    ),
  );

  /** Bytes of an answer that was not padded. */
  const answerBytes = ({ reply }: ProbeResult): number => JSON.stringify(reply).length;

  test('an answer from elsewhere counts, with where it came from; a connected socket never hears it', () =>
    withEcho({}, () =>
      station.withRules(chain('output', 'udp sport 7000 ip saddr set 127.0.0.77 udp sport set 7001'), async () => {
        expect(await probe()).toMatchObject({ outcome: 'answered', from: '127.0.0.77', fromPort: 7001 });
        expect(await probe({ connected: true, timeoutMs: 200 })).toMatchObject({ outcome: 'timeout' });
      }),
    ));

  test.each([
    ['TCP to a closed port', { protocol: 'TCP', port: 7999 }, 'refused', 'ECONNREFUSED'],
    ['connected UDP to a closed port', { connected: true, port: 7999 }, 'refused', 'ECONNREFUSED'],
    ['unconnected UDP to a closed port', { port: 7999, timeoutMs: 200 }, 'timeout', null],
    ['UDP without a route', { address: '203.0.113.1' }, 'unreachable', 'ENETUNREACH'],
    ['TCP without a route', { protocol: 'TCP', address: '203.0.113.1' }, 'unreachable', 'ENETUNREACH'],
  ] as const)('%s', async (_, request, outcome, errorCode) => {
    expect(await probe(request)).toMatchObject({ outcome, errorCode, reply: null });
  });

  test('a source port in use is no result but an error', () =>
    withEcho({}, async () => {
      await expect(probe({ sourcePort: 7000 })).rejects.toThrow(/station-test: probe: .*EADDRINUSE/);
    }));
});

describe('a range of ports', () => {
  test.each(['UDP', 'TCP'] as const)(
    '%s: first, middle and last answer as themselves, those beside it do not',
    (protocol) =>
      withEcho({ protocol, port: 7100, endPort: 7199 }, async (server) => {
        for (const port of [7100, 7150, 7199]) {
          expect((await probe({ protocol, port })).reply).toMatchObject({ port });
        }
        for (const port of [7099, 7200]) {
          expect(await probe({ protocol, port, connected: true })).toMatchObject({ outcome: 'refused' });
        }
        expect((await sightings(server)).map(({ port }) => port)).toEqual([7100, 7150, 7199]);
      }),
  );

  test.each(['UDP', 'TCP'] as const)(
    '%s: one port of it taken: an error with the errno, and none is bound',
    (protocol) =>
      withEcho({ protocol, port: 7110 }, async () => {
        await expect(withEcho({ protocol, port: 7100, endPort: 7119 }, async () => undefined)).rejects.toMatchObject({
          code: 'EADDRINUSE',
        });
        for (const port of [7100, 7109, 7111, 7119]) {
          expect(await probe({ protocol, port, connected: true })).toMatchObject({ outcome: 'refused' });
        }
      }),
  );

  test('a stopped responder has let go of its ports', async () => {
    await withEcho({ port: 7100, endPort: 7119 }, async () => undefined);
    await withEcho({ port: 7100, endPort: 7119 }, async () => {
      expect(await probe({ port: 7119 })).toMatchObject({ outcome: 'answered' });
    });
  });
});

describe('a steady flow', () => {
  const start = async (protocol: 'UDP' | 'TCP', perSecond = 200) =>
    station.client.request('flowStart', { protocol, address, port: 7000, perSecond });

  test.each(['UDP', 'TCP'] as const)('%s: one port, the wanted rate, every answer accounted for', (protocol) =>
    withEcho({ protocol }, async () => {
      const { flow, sourcePort } = await start(protocol);
      await sleep(500);
      const report = await station.client.request('flowStop', { flow });
      expect(report).toMatchObject({ lost: 0, foreign: 0, sourcePort, answered: report.sent });
      // 200 a second for half a second; late timers of a busy machine are caught up with.
      expect(report.sent).toBeGreaterThan(90);
      expect(report.sent).toBeLessThan(160);
      expect(report.peers).toEqual({ [`127.0.0.1:${sourcePort}`]: report.sent });
      expect(report.pods).toEqual({ 'echo-0': report.sent });
    }),
  );

  test('what a rule drops, every fifth request, is exactly what is reported lost', () =>
    withEcho({}, () =>
      station.withRules(chain('input', 'udp dport 7000 numgen inc mod 5 == 4 counter drop'), async () => {
        const { flow } = await start('UDP');
        await sleep(500);
        const { sent, answered, lost } = await station.client.request('flowStop', { flow });
        const { packets } = await counted();
        expect(sent).toBeGreaterThan(50);
        expect({ answered, lost }).toEqual({ answered: sent - packets, lost: packets });
        expect(packets).toBe(Math.floor(sent / 5));
      }),
    ));

  test('answers from another address are counted as foreign', () =>
    withEcho({}, () =>
      station.withRules(
        chain('output', 'udp sport 7000 numgen inc mod 5 == 4 ip saddr set 127.0.0.77 counter'),
        async () => {
          const { flow } = await start('UDP');
          await sleep(300);
          const { sent, answered, foreign } = await station.client.request('flowStop', { flow });
          const { packets } = await counted();
          expect(packets).toBeGreaterThan(5);
          expect({ answered, foreign }).toEqual({ answered: sent, foreign: packets });
        },
      ),
    ));

  test('an interruption shows as the longest gap', () =>
    withEcho({}, async () => {
      const { flow } = await start('UDP', 50);
      await sleep(200);
      expect((await station.client.request('flowReport', { flow })).longestGapMs).toBeLessThan(200);
      await station.withRules(chain('input', 'udp dport 7000 drop'), () => sleep(400));
      await sleep(200);
      const { longestGapMs } = await station.client.request('flowStop', { flow });
      expect(longestGapMs).toBeGreaterThan(400);
      expect(longestGapMs).toBeLessThan(900);
    }));

  test('an answer after more than a second comes too late: its request is lost', () =>
    withEcho({ delayMs: 1200 }, async () => {
      const { flow } = await start('UDP', 20);
      // Answers to the first requests arrive while `flowStop` still waits for the last ones.
      await sleep(600);
      const { sent, answered, lost } = await station.client.request('flowStop', { flow });
      expect({ answered, lost }).toEqual({ answered: 0, lost: sent });
    }));
});

describe('who speaks first', () => {
  test('a push from the listening port is heard on an open socket', () =>
    withEcho({}, async (server) => {
      const { socket, sourcePort } = await station.client.request('socketOpen', {});
      await station.client.request('echoPush', {
        server,
        peer: address,
        peerPort: sourcePort,
        port: 7000,
        id: 'first',
      });
      const { datagrams } = await station.client.request('socketReceived', { socket, waitMs: 2000, atLeast: 1 });
      expect(datagrams).toMatchObject([{ from: address, fromPort: 7000 }]);
      expect(JSON.parse(datagrams[0]?.text ?? '')).toMatchObject({ id: 'first', pod: 'echo-0', port: 7000 });
      await station.client.request('socketClose', { socket });
    }));

  test('an open socket is answered on the port it keeps', () =>
    withEcho({}, async () => {
      const { socket, sourcePort } = await station.client.request('socketOpen', { sourcePort: 40_002 });
      for (const id of ['a', 'b']) {
        await station.client.request('socketSend', { socket, address, port: 7000, text: JSON.stringify({ id }) });
      }
      const { datagrams } = await station.client.request('socketReceived', { socket, waitMs: 2000, atLeast: 2 });
      expect(datagrams.map(({ text }) => JSON.parse(text) as unknown)).toMatchObject([
        { id: 'a', peerPort: sourcePort },
        { id: 'b', peerPort: sourcePort },
      ]);
      await station.client.request('socketClose', { socket });
    }));

  test('nobody pushes: the wait ends on time, empty', async () => {
    const { socket } = await station.client.request('socketOpen', {});
    const begin = performance.now();
    expect(await station.client.request('socketReceived', { socket, waitMs: 200, atLeast: 1 })).toEqual({
      datagrams: [],
    });
    expect(performance.now() - begin).toBeGreaterThan(198);
    await station.client.request('socketClose', { socket });
  });

  test('over TCP only to a peer that has a connection', () =>
    withEcho({ protocol: 'TCP' }, async (server) => {
      const push = { server, peer: '127.0.0.1', peerPort: 40_003, port: 7000, id: 'first' };
      await expect(station.client.request('echoPush', push)).rejects.toThrow('no open connection from 127.0.0.1:40003');
    }));
});

describe('commands', () => {
  const exec = (argv: string[], more: { timeoutMs?: number; input?: string; env?: Record<string, string> } = {}) =>
    station.client.request('exec', { argv, timeoutMs: 5000, ...more });

  test('get their input and environment; output, errors and exit status come back apart', async () => {
    const script = 'cat; echo "$WORD" >&2; exit 7';
    expect(await exec(['sh', '-c', script], { input: 'in', env: { WORD: 'hello' } })).toMatchObject({
      ...{ code: 7, stdout: 'in', stderr: 'hello\n' },
    });
    expect(await exec(['sh', '-c', 'kill -9 $$'])).toMatchObject({ code: 137 });
    await expect(exec(['no-such-program'])).rejects.toThrow(/cannot run `no-such-program`: .*ENOENT/);
    await expect(exec([])).rejects.toThrow('an empty command');
  });

  test('one that reads none of a large input is judged by its exit status', async () => {
    expect(await exec(['true'], { input: 'x'.repeat(1_000_000) })).toMatchObject({ code: 0 });
  });

  test('the time-out kills the whole process group, what runs in the background too', async () => {
    const file = join(station.folder, 'background');
    const begin = performance.now();
    await expect(exec(['sh', '-c', `sleep 300 & echo $! > ${file}; wait`], { timeoutMs: 300 })).rejects.toThrow(
      'did not end within 300 ms and was killed',
    );
    expect(performance.now() - begin).toBeLessThan(2000);
    const pid = Number(await readFile(file, 'utf8'));
    await waitFor('its end', async () => ((await isRunning(pid)) ? undefined : true), { timeoutMs: 2000 });
  });

  test('the time-out holds although a daemon that left the group keeps the output open', async () => {
    const file = join(station.folder, 'daemon');
    const begin = performance.now();
    const daemon = `setsid sh -c 'echo $$ > ${file}; exec sleep 5' & wait`;
    await expect(exec(['sh', '-c', daemon], { timeoutMs: 300 })).rejects.toThrow('did not end within 300 ms');
    expect(performance.now() - begin).toBeLessThan(2000);
    process.kill(Number(await readFile(file, 'utf8')), 'SIGKILL');
  });

  test('16 MiB of output are too much, less is not', async () => {
    const { stdout } = await exec(['head', '-c', String(15 * 1024 * 1024), '/dev/zero']);
    expect(stdout).toHaveLength(15 * 1024 * 1024);
    await expect(exec(['head', '-c', String(17 * 1024 * 1024), '/dev/zero'])).rejects.toThrow(
      'printed more than 16777216 bytes and was killed',
    );
  });
});

describe('processes that go on', () => {
  const spawn = (script: string, log: string) =>
    station.client.request('spawn', { argv: ['sh', '-c', script], logFile: join(station.folder, 'logs', log) });
  const exit = (wanted: { code?: number; signal?: string }) =>
    station.nextMessage((message) => 'event' in message && message.event === 'exit' && matches(message, wanted));
  const matches = (message: object, wanted: object): boolean =>
    Object.entries(wanted).every(([key, value]) => message[key as keyof object] === value);

  test('their end is told once, with the exit status, and their output is appended to the log', async () => {
    for (const code of [3, 4]) {
      const ended = exit({ code });
      const { pid } = await spawn(`echo out ${code}; echo err ${code} >&2; exit ${code}`, 'twice.log');
      expect(await ended).toEqual({ event: 'exit', pid, code, signal: null });
    }
    const path = join(station.folder, 'logs', 'twice.log');
    const { text } = await station.client.request('readFile', { path });
    expect(text).toBe('out 3\nerr 3\nout 4\nerr 4\n');
    expect(await station.client.request('readFile', { path, lastBytes: 6 })).toEqual({ text: 'err 4\n' });
  });

  test('a signal reaches them and is told', async () => {
    const ended = exit({ signal: 'SIGTERM' });
    const { pid } = await spawn('exec sleep 300', 'signal.log');
    await station.client.request('kill', { pid, signal: 'SIGTERM' });
    expect(await ended).toEqual({ event: 'exit', pid, code: null, signal: 'SIGTERM' });
  });

  test("a process that is not the station's is not signalled", async () => {
    await expect(station.client.request('kill', { pid: process.pid, signal: 'SIGCONT' })).rejects.toThrow(
      `${process.pid} is no process of this station`,
    );
  });

  test('one that cannot start is an error', async () => {
    const logFile = join(station.folder, 'none.log');
    await expect(station.client.request('spawn', { argv: ['no-such-program'], logFile })).rejects.toThrow(
      /cannot start `no-such-program`: .*ENOENT/,
    );
  });
});

describe('a station that ends', () => {
  test.each([
    ['a process that goes on', 'spawn', (file: string) => `echo $$ > ${file}; exec sleep 300`],
    ['its background', 'spawn', (file: string) => `sleep 300 & echo $! > ${file}; wait`],
    ['a command under way', 'exec', (file: string) => `echo $$ > ${file}; exec sleep 300`],
    [
      'what a finished command left behind',
      'exec',
      (file: string) => `sleep 300 >/dev/null 2>&1 </dev/null & echo $! > ${file}`,
    ],
  ] as const)('with its input takes with it %s', async (_, operation, script) => {
    const other = await openStation('other');
    const file = join(other.folder, 'pid');
    const argv = ['sh', '-c', script(file)];
    const started =
      operation === 'spawn'
        ? other.client.request('spawn', { argv, logFile: join(other.folder, 'log') })
        : other.client.request('exec', { argv, timeoutMs: 20_000 });
    started.catch(() => undefined);
    const pid = await waitFor('its id', async () => Number(await readFile(file, 'utf8')) || undefined, {
      timeoutMs: 5000,
    });
    // An answer means that whatever came before it has been dealt with.
    await other.client.request('ping', {});
    expect(await isRunning(pid)).toBe(true);
    expect(await other.endInput()).toEqual({ code: 0, signal: null });
    await waitFor('its end', async () => ((await isRunning(pid)) ? undefined : true), { timeoutMs: 2000 });
    await other.close();
  });

  test('cuts off what is asked of it, and refuses what is asked later', async () => {
    const other = await openStation('other');
    const cut = expect(other.client.request('exec', { argv: ['sleep', '300'], timeoutMs: 20_000 })).rejects.toThrow(
      'other: exec was cut off: the station ended: exit 0',
    );
    await other.endInput();
    await cut;
    await expect(other.client.request('ping', {})).rejects.toThrow('other: cannot ping: the station ended');
    await other.close();
  });
});

describe('what is no request', () => {
  test.each(['garbage', '', 'null', '{"id":', '[]'])('%j gets an error for an answer', async (line) => {
    const answered = station.nextMessage((message) => 'error' in message);
    station.sendLine(line);
    expect(await answered).toMatchObject({ error: { message: expect.any(String) } });
    expect(await station.client.request('ping', {})).toMatchObject({ node: process.version });
  });

  test.each(['nonsense', 'toString', 'constructor', '__proto__'])(
    'an operation %j is refused by its name',
    async (name) => {
      await expect(station.client.request(name as StationOperation, {} as never)).rejects.toThrow(
        `a station knows no operation "${name}"`,
      );
    },
  );

  test.each([
    ['echoStop', { server: 999 }, 'no echo responder 999'],
    ['flowStop', { flow: 999 }, 'no flow 999'],
    ['socketClose', { socket: 999 }, 'no socket 999'],
    ['readFile', { path: '/nowhere' }, 'ENOENT'],
  ] as const)('%s of something that is not there: %o', async (operation, params, message) => {
    await expect(station.client.request(operation, params as never)).rejects.toThrow(message);
  });

  test('a station that does not answer is given up after the time-out', async () => {
    const { socket } = await station.client.request('socketOpen', {});
    await expect(
      station.client.request('socketReceived', { socket, waitMs: 1000, atLeast: 1 }, { timeoutMs: 200 }),
    ).rejects.toThrow('station-test: its station did not answer socketReceived within 200 ms');
    await station.client.request('socketClose', { socket });
  });
});
