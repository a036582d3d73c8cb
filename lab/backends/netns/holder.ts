/**
 * The holder: the one process that owns a lab. It runs inside the lab's private namespaces, keeps a station on every
 * host and passes messages between drivers and stations. When it ends, the PID namespace ends, and with it everything
 * the lab ever started; that is the whole of the clean-up.
 *
 * Two things end it: its standard input closing before `detach` (the driver died, however it died), and `shutdown`.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Envelope, HolderOperation, HolderOperations, StationStart } from './holder-protocol.ts';

const [stateFolder, stationProgram] = process.argv.slice(2);
if (stateFolder === undefined || stationProgram === undefined) {
  throw new Error('usage: holder STATE_FOLDER STATION_PROGRAM');
}

interface Station {
  process: ChildProcessWithoutNullStreams;
  pid: number;
}

interface Pending {
  client: net.Socket;
  id: number;
  host: string;
}

const stations = new Map<string, Station>();
const clients = new Set<net.Socket>();
/** Requests under way at stations, by the number the station knows them under. */
const pending = new Map<number, Pending>();
let nextRequest = 1;
let state: unknown = null;
let detached = false;

function end(): never {
  rmSync(stateFolder as string, { recursive: true, force: true });
  process.exit(0);
}

process.stdin.resume();
process.stdin.on('end', () => {
  if (!detached) end();
});
process.stdin.on('error', () => {
  if (!detached) end();
});

function send(client: net.Socket, envelope: Envelope): void {
  if (!client.destroyed) client.write(`${JSON.stringify(envelope)}\n`);
}

/** What a host needs before its station: loopback up, and with mounts of its own its name and its WireGuard sockets. */
const loopback = 'ip link set lo up';
// A new network namespace takes over the machine's defaults: strict reverse path filtering there (RHEL, ufw) would be
// in force here too. Set before the first device comes, since each takes the default over when it is made.
const noFilter = 'for f in all default; do echo 0 > /proc/sys/net/ipv4/conf/$f/rp_filter; done';
// The host's own /sys shows its own devices; where a user namespace may not mount it, nothing of the lab misses it.
const mounts = 'hostname "$0"; mount -t sysfs sysfs /sys 2>/dev/null; mount -t tmpfs tmpfs /run/wireguard';

/**
 * The command line that starts a station in its namespaces. A host's mounts are slaves of the lab's: the namespaces of
 * pods made later must appear in it, what it mounts itself must not appear elsewhere.
 */
function stationCommand(start: StationStart): string[] {
  const station = [process.execPath, stationProgram as string];
  if (start.networkNamespace === null) return station;
  const everywhere = `${loopback} && ${noFilter}`;
  const prelude = start.ownMounts ? `${mounts} && ${everywhere}` : everywhere;
  return [
    ...['nsenter', `--net=/run/netns/${start.networkNamespace}`],
    ...(start.ownMounts ? ['unshare', '--mount', '--propagation', 'slave', '--uts'] : []),
    ...['sh', '-c', `${prelude} && exec "$@"`, start.host, ...station],
  ];
}

function startStation(start: StationStart): Promise<{ pid: number }> {
  if (stations.has(start.host)) return Promise.reject(new Error(`${start.host} already has a station`));
  const [program, ...args] = stationCommand(start) as [string, ...string[]];
  const child = spawn(program, args, { stdio: 'pipe', env: { ...process.env, KUPORT_LAB_HOST: start.host } });
  return new Promise((resolve, reject) => {
    let errors = '';
    let ready = false;
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-4000);
      process.stderr.write(`${start.host}: ${chunk}`);
    });
    // A station that dies while a line is on its way to it: its `exit` says so, the broken pipe adds nothing.
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => reject(new Error(`${start.host}: cannot start its station: ${error.message}`)));
    child.on('exit', (code, signal) => {
      stations.delete(start.host);
      const why = `${start.host}: its station ended (${signal ?? `exit ${code}`}) ${errors.trim()}`;
      if (!ready) reject(new Error(why));
      for (const [number, waiting] of pending) {
        if (waiting.host !== start.host) continue;
        pending.delete(number);
        send(waiting.client, { host: start.host, message: { id: waiting.id, error: { message: why } } });
      }
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message = JSON.parse(line) as { id?: number; event?: string; pid?: number };
      if (message.id !== undefined) {
        const waiting = pending.get(message.id);
        if (waiting === undefined) return;
        pending.delete(message.id);
        send(waiting.client, { host: start.host, message: { ...message, id: waiting.id } });
      } else if (message.event === 'ready' && !ready) {
        ready = true;
        stations.set(start.host, { process: child, pid: message.pid ?? 0 });
        resolve({ pid: message.pid ?? 0 });
      } else {
        for (const client of clients) send(client, { host: start.host, message });
      }
    });
  });
}

type Handlers = {
  [Operation in HolderOperation]: (
    params: HolderOperations[Operation]['params'],
  ) => HolderOperations[Operation]['result'] | Promise<HolderOperations[Operation]['result']>;
};

const handlers: Handlers = {
  startStation,
  stopStation: ({ host }) => {
    const station = stations.get(host);
    if (station === undefined) throw new Error(`${host} has no station`);
    return new Promise((resolve) => {
      station.process.once('exit', () => resolve({}));
      station.process.stdin.end();
      // A station that does not end by itself is ended: a pod must not outlive its deletion.
      setTimeout(() => station.process.kill('SIGKILL'), 1000).unref();
    });
  },
  stations: () => [...stations].map(([host, { pid }]) => ({ host, pid })),
  setState: (params) => {
    state = params.state;
    return {};
  },
  getState: () => ({ state }),
  detach: () => {
    detached = true;
    return {};
  },
  shutdown: () => {
    setImmediate(end);
    return {};
  },
};

async function answer(
  client: net.Socket,
  request: { id: number; operation: HolderOperation; params: unknown },
): Promise<void> {
  try {
    if (!Object.hasOwn(handlers, request.operation)) {
      throw new Error(`the holder knows no operation ${request.operation}`);
    }
    const handler = handlers[request.operation] as (params: unknown) => unknown;
    send(client, { host: '', message: { id: request.id, result: await handler(request.params) } });
  } catch (error) {
    send(client, { host: '', message: { id: request.id, error: { message: (error as Error).message } } });
  }
}

function receive(client: net.Socket, line: string): void {
  const { host, message } = JSON.parse(line) as {
    host: string;
    message: { id: number; operation: HolderOperation; params: unknown };
  };
  if (typeof message !== 'object' || message === null) throw new Error('it has no `message`');
  if (host === '') {
    void answer(client, message);
    return;
  }
  const station = stations.get(host);
  if (station === undefined) {
    send(client, { host, message: { id: message.id, error: { message: `${host} has no station in this lab` } } });
    return;
  }
  const number = nextRequest++;
  pending.set(number, { client, id: message.id, host });
  station.process.stdin.write(`${JSON.stringify({ ...message, id: number })}\n`);
}

const server = net.createServer((client) => {
  clients.add(client);
  const lines = createInterface({ input: client });
  // readline passes on its input's errors; unheard, a client that is killed (ECONNRESET) would end the lab.
  lines.on('error', () => undefined);
  lines.on('line', (line) => {
    try {
      receive(client, line);
    } catch (error) {
      send(client, { host: '', message: { id: -1, error: { message: `not a message: ${(error as Error).message}` } } });
    }
  });
  const gone = (): void => {
    clients.delete(client);
    for (const [number, waiting] of pending) if (waiting.client === client) pending.delete(number);
  };
  client.on('close', gone);
  client.on('error', gone);
});
server.listen(join(stateFolder, 'holder.sock'));
