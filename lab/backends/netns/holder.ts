/**
 * The holder: the one process that owns a lab. It runs inside the lab's private namespaces, keeps a station on every
 * host and passes messages between drivers and stations. When it ends, the PID namespace ends, and with it everything
 * the lab ever started; that is the whole of the clean-up.
 *
 * Two things end it: its standard input closing before `detach` (the driver died, however it died), and `shutdown`.
 *
 * The holder of a lab all of whose hosts are on machines outside has no namespaces of its own; it ends what it started
 * outside, and runs the lab's last command.
 */
import { rmSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Machines } from './holder-machines.ts';
import type { Envelope, HolderOperation, HolderOperations, StationStart } from './holder-protocol.ts';
import { runLastCommand, writeLastCommand } from './last-command.ts';
import { OutsidePrograms } from './outside-programs.ts';
import { namespaceStation, type StationPipe } from './station-pipe.ts';

const [stateFolder, stationProgram] = process.argv.slice(2);
if (stateFolder === undefined || stationProgram === undefined) {
  throw new Error('usage: holder STATE_FOLDER STATION_PROGRAM');
}

interface Station {
  pipe: StationPipe;
  pid: number;
  machine: string | null;
}

interface Pending {
  client: net.Socket;
  id: number;
  host: string;
}

const stations = new Map<string, Station>();
/** Why a station that was there is gone. */
const ended = new Map<string, string>();
const machines = new Machines();
const outside = new OutsidePrograms();
const clients = new Set<net.Socket>();
/** Requests under way at stations, by the number the station knows them under. */
const pending = new Map<number, Pending>();
let nextRequest = 1;
let state: unknown = null;
let detached = false;
let ending = false;

async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  try {
    await outside.end();
    await runLastCommand(stateFolder as string);
  } catch (error) {
    // The folder stays, with what is still to be run.
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
  rmSync(stateFolder as string, { recursive: true, force: true });
  process.exit(0);
}

process.stdin.resume();
process.stdin.on('end', () => {
  if (!detached) void end();
});
process.stdin.on('error', () => {
  if (!detached) void end();
});

function send(client: net.Socket, envelope: Envelope): void {
  if (!client.destroyed) client.write(`${JSON.stringify(envelope)}\n`);
}

async function startStation(start: StationStart): Promise<{ pid: number }> {
  if (stations.has(start.host)) throw new Error(`${start.host} already has a station`);
  ended.delete(start.host);
  const machine = 'machine' in start ? start.machine : null;
  const pipe =
    'machine' in start
      ? await machines.station(start.machine, start.command)
      : namespaceStation(start, stationProgram as string);
  return new Promise((resolve, reject) => {
    let errors = '';
    let ready = false;
    pipe.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString()).slice(-4000);
      process.stderr.write(`${start.host}: ${chunk}`);
    });
    // A station that dies while a line is on its way to it: its end says so, the broken pipe adds nothing.
    pipe.input.on('error', () => undefined);
    void pipe.ended.then((reason) => {
      stations.delete(start.host);
      const why = `${start.host}: its station ended (${reason}) ${errors.trim()}`.trim();
      ended.set(start.host, why);
      if (!ready) reject(new Error(why));
      for (const [number, waiting] of pending) {
        if (waiting.host !== start.host) continue;
        pending.delete(number);
        send(waiting.client, { host: start.host, message: { id: waiting.id, error: { message: why } } });
      }
    });
    createInterface({ input: pipe.output })
      .on('line', (line) => {
        const message = JSON.parse(line) as { id?: number; event?: string; pid?: number };
        if (message.id !== undefined) {
          const waiting = pending.get(message.id);
          if (waiting === undefined) return;
          pending.delete(message.id);
          send(waiting.client, { host: start.host, message: { ...message, id: waiting.id } });
        } else if (message.event === 'ready' && !ready) {
          ready = true;
          stations.set(start.host, { pipe, pid: message.pid ?? 0, machine });
          resolve({ pid: message.pid ?? 0 });
        } else {
          for (const client of clients) send(client, { host: start.host, message });
        }
      })
      .on('error', () => undefined);
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
    station.pipe.input.end();
    // A station that does not end by itself is ended: a pod must not outlive its deletion.
    setTimeout(() => station.pipe.kill(), 1000).unref();
    return station.pipe.ended.then(() => ({}));
  },
  stations: () => [...stations].map(([host, { pid, machine }]) => ({ host, pid, machine })),
  openMachine: (opening) => machines.open(opening),
  runOnMachine: ({ machine, command, inputFile }) => machines.run(machine, command, inputFile),
  shareSocket: ({ machine, remotePath, localPath }) => machines.shareSocket(machine, localPath, remotePath),
  runOutside: ({ argv, env, outputFile }) => {
    if (ending) throw new Error('the lab is ending');
    return outside.run({ argv, env }, outputFile);
  },
  setLastCommand: (command) => {
    writeLastCommand(stateFolder as string, command);
    return {};
  },
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
    setImmediate(() => void end());
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
    const why = ended.get(host) ?? `${host} has no station in this lab`;
    send(client, { host, message: { id: message.id, error: { message: why } } });
    return;
  }
  const number = nextRequest++;
  pending.set(number, { client, id: message.id, host });
  station.pipe.input.write(`${JSON.stringify({ ...message, id: number })}\n`);
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
