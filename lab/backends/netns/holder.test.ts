/** The built holder in its namespaces: who hears what, and when a lab ends. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { StationClient } from '../../station/client.ts';
import { isRunning } from '../../station/testing/open-station.ts';
import { waitFor } from '../../wait.ts';
import { HolderConnection } from './holder-connection.ts';
import type { Envelope, HolderOperation } from './holder-protocol.ts';
import { type LaunchedHolder, launchHolder } from './launch.ts';
import { LabExistsError, listLabs } from './state-folder.ts';

const usual = process.env.KUPORT_LAB_FOLDER;
let labs: string;
beforeAll(() => {
  labs = mkdtempSync(join(tmpdir(), 'kuport-holder-'));
  process.env.KUPORT_LAB_FOLDER = labs;
});
afterAll(() => {
  if (usual === undefined) delete process.env.KUPORT_LAB_FOLDER;
  else process.env.KUPORT_LAB_FOLDER = usual;
  rmSync(labs, { recursive: true });
});

let holder: LaunchedHolder;
const others: HolderConnection[] = [];
const launch = async (name = 'mine'): Promise<void> => {
  holder = await launchHolder(name);
};
afterEach(async () => {
  for (const other of others.splice(0)) other.close();
  await holder.connection.request('shutdown', {}).catch(() => undefined);
  await ended();
});

const ended = (): Promise<true> =>
  waitFor('the end of the holder', async () => ((await isRunning(holder.process.pid ?? 0)) ? undefined : true), {
    timeoutMs: 5000,
  });

const start = (host: string, connection = holder.connection) =>
  connection.request('startStation', { host, networkNamespace: null, ownMounts: false });
const stationOf = (host: string, connection = holder.connection): StationClient =>
  new StationClient(host, connection.stationTransport(host));
const secondClient = async (): Promise<HolderConnection> => {
  const connection = await HolderConnection.open(join(holder.folder, 'holder.sock'));
  others.push(connection);
  return connection;
};

describe('a station that dies', () => {
  test("rejects what is asked of it with its host's name, other hosts answer on", async () => {
    await launch();
    const { pid } = await start('edge-a');
    await start('edge-d');
    const [dying, other] = [stationOf('edge-a'), stationOf('edge-d')];
    const pending = [
      expect(dying.request('exec', { argv: ['sleep', '300'], timeoutMs: 20_000 })).rejects.toThrow(
        'edge-a: exec: edge-a: its station ended (SIGKILL)',
      ),
      expect(dying.request('socketOpen', {}).then(() => dying.request('exec', sleeping))).rejects.toThrow(
        /edge-a: .*its station ended \(SIGKILL\)/,
      ),
    ];
    const undisturbed = other.request('exec', { argv: ['sleep', '0.5'], timeoutMs: 5000 });
    // Answers come in order: the commands above are under way.
    await dying.request('ping', {});
    await dying.request('ping', {});
    await other.request('exec', { argv: ['kill', '-9', String(pid)], timeoutMs: 5000 });
    await Promise.all(pending);
    expect(await undisturbed).toMatchObject({ code: 0 });
    await expect(dying.request('ping', {})).rejects.toThrow('edge-a: ping: edge-a: its station ended (SIGKILL)');
    expect((await holder.connection.request('stations', {})).map(({ host }) => host)).toEqual(['edge-d']);
    await start('edge-a');
    expect(await dying.request('ping', {})).toMatchObject({ node: process.version });
  });

  const sleeping = { argv: ['sleep', '300'], timeoutMs: 20_000 };

  test('one that cannot start is an error that names the host and the cause', async () => {
    await launch();
    await expect(
      holder.connection.request('startStation', { host: 'ghost', networkNamespace: 'none', ownMounts: false }),
    ).rejects.toThrow(/^ghost: its station ended \(exit 1\) .*\/run\/netns\/none/);
    await start('twice');
    await expect(start('twice')).rejects.toThrow('twice already has a station');
  });

  test('stopped on request, it takes its processes along', async () => {
    await launch();
    await start('pod-a');
    await start('node');
    const [pod, node] = [stationOf('pod-a'), stationOf('node')];
    const { pid } = await pod.request('spawn', { argv: ['sleep', '300'], logFile: '/run/lab/sleep.log' });
    const runs = async (): Promise<boolean> =>
      (await node.request('exec', { argv: ['kill', '-0', String(pid)], timeoutMs: 5000 })).code === 0;
    expect(await runs()).toBe(true);
    await holder.connection.request('stopStation', { host: 'pod-a' });
    await waitFor('its end', async () => ((await runs()) ? undefined : true), { timeoutMs: 2000 });
    await expect(holder.connection.request('stopStation', { host: 'pod-a' })).rejects.toThrow('pod-a has no station');
  });
});

describe('the end of a lab', () => {
  test('comes when its lifeline closes: its folder goes, what is asked is rejected, the name is free', async () => {
    await launch();
    await start('edge-a');
    const second = await secondClient();
    const asked = expect(
      stationOf('edge-a', second).request('exec', { argv: ['sleep', '300'], timeoutMs: 20_000 }),
    ).rejects.toThrow('edge-a: exec was cut off: the lab has ended');
    await second.request('stations', {});
    holder.process.stdin?.destroy();
    await asked;
    await ended();
    expect(existsSync(holder.folder)).toBe(false);
    expect(listLabs()).toEqual([]);
    await launch();
  });

  test('does not come with the lifeline of a driver that let go, but with shutdown', async () => {
    await launch();
    await start('edge-a');
    await holder.connection.request('setState', { state: { kept: 1 } });
    await holder.letGo();
    holder.connection.close();
    const second = await secondClient();
    expect(await stationOf('edge-a', second).request('ping', {})).toMatchObject({ node: process.version });
    expect(await second.request('getState', {})).toEqual({ state: { kept: 1 } });
    expect(await isRunning(holder.process.pid ?? 0)).toBe(true);
    await second.request('shutdown', {}).catch(() => undefined);
    await second.closed;
    await ended();
    expect(existsSync(holder.folder)).toBe(false);
  });

  test('a request after it is rejected at once', async () => {
    await launch();
    await holder.connection.request('shutdown', {}).catch(() => undefined);
    await holder.connection.closed;
    await expect(holder.connection.request('stations', {})).rejects.toThrow('the lab has ended');
    await expect(stationOf('edge-a').request('ping', {}, { timeoutMs: 1000 })).rejects.toThrow(
      'edge-a: ping was cut off: ',
    );
  });

  test('a name that is taken is refused, and the lab that has it is not disturbed', async () => {
    await launch();
    await expect(launchHolder('mine')).rejects.toThrow(LabExistsError);
    expect(await holder.connection.request('stations', {})).toEqual([]);
    await expect(launchHolder('../mine')).rejects.toThrow('lab name "../mine": use 1 to 31 of');
  });
});

describe('several clients', () => {
  test('with the same request numbers at once each get their own answers', async () => {
    await launch();
    await start('edge-a');
    const second = await secondClient();
    const clients = [stationOf('edge-a'), stationOf('edge-a', second)];
    // The later a request, the sooner it is answered: answers overtake each other.
    const answers = await Promise.all(
      clients.flatMap((client, index) =>
        Array.from({ length: 20 }, async (_, n) => {
          const script = `sleep 0.${39 - n}; echo ${index}-${n}`;
          const { stdout } = await client.request('exec', { argv: ['sh', '-c', script], timeoutMs: 10_000 });
          return stdout.trim() === `${index}-${n}`;
        }),
      ),
    );
    expect(answers).toEqual(Array.from({ length: 40 }, () => true));
  });

  test("all hear a host's events; one that leaves in the middle disturbs nobody", async () => {
    await launch();
    await start('edge-a');
    const second = await secondClient();
    const third = await secondClient();
    const heard = Promise.all(
      [holder.connection, second].map(
        (connection) =>
          new Promise<number>((resolve) =>
            stationOf('edge-a', connection).onEvent((event) => {
              if (event.event === 'exit') resolve(event.pid);
            }),
          ),
      ),
    );
    void stationOf('edge-a', third)
      .request('exec', { argv: ['sleep', '0.2'], timeoutMs: 5000 })
      .catch(() => undefined);
    await third.request('stations', {});
    third.close();
    await third.closed;
    const driver = await secondClient();
    const { pid } = await stationOf('edge-a', driver).request('spawn', {
      ...{ argv: ['sleep', '0.4'], logFile: '/run/lab/sleep.log' },
    });
    expect(await heard).toEqual([pid, pid]);
  });
});

test('a client that dies with answers unread does not take the lab with it', async () => {
  await launch();
  const socket = net.connect(join(holder.folder, 'holder.sock'));
  socket.pause();
  socket.write('{"host":"","message":{"id":1,"operation":"stations","params":{}}}\n');
  await holder.connection.request('stations', {});
  await holder.connection.request('stations', {});
  socket.destroy();
  // Its end reaches the holder as ECONNRESET, before this:
  await secondClient();
  expect(await holder.connection.request('stations', {})).toEqual([]);
});

describe('lines that are no message', () => {
  test.each([
    ['garbage', -1, /^not a message: /],
    ['null', -1, /^not a message: /],
    ['{"host":""}', -1, /^not a message: /],
    ['{"host":"","message":null}', -1, /^not a message: /],
    ['{"host":"","message":{"id":5}}', 5, 'the holder knows no operation undefined'],
    ['{"host":"","message":{"id":5,"operation":"nonsense"}}', 5, 'the holder knows no operation nonsense'],
    ['{"host":"","message":{"id":5,"operation":"toString"}}', 5, 'the holder knows no operation toString'],
    ['{"host":"edge-a"}', -1, /^not a message: /],
    ['{"host":"nobody","message":{"id":5,"operation":"ping"}}', 5, 'nobody has no station in this lab'],
  ])('%s gets an error, and the lab lives on', async (line, id, words) => {
    await launch();
    await start('edge-a');
    const socket = net.connect(join(holder.folder, 'holder.sock'));
    const answer = new Promise<Envelope>((resolve, reject) => {
      createInterface({ input: socket }).once('line', (text) => resolve(JSON.parse(text) as Envelope));
      socket.once('close', () => reject(new Error('the holder closed the connection')));
    });
    socket.write(`${line}\n`);
    const { message } = (await answer) as { message: { id: number; error: { message: string } } };
    expect(message.id).toBe(id);
    expect(message.error.message).toMatch(words);
    socket.destroy();
    expect(await stationOf('edge-a').request('ping', {})).toMatchObject({ node: process.version });
  });

  test("the holder's own words reach the client that asked", async () => {
    await launch();
    await expect(holder.connection.request('nonsense' as HolderOperation, {} as never)).rejects.toThrow(
      'the holder knows no operation nonsense',
    );
  });
});
