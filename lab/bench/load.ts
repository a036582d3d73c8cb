/**
 * `load ADDRESS PORT MS`: what one client gets through one mapping, as JSON on standard output. A program of its own, so
 * that nothing else of the lab runs in its process.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';

/** Of one client over one mapping. */
export interface LoadResult {
  /** Of UDP exchanges one after the other, in milliseconds. */
  roundTripMs: number;
  /** UDP datagrams per second, both ways together, with many exchanges under way. */
  packetsPerSecond: number;
  /** TCP connections per second, each opened, used for one exchange and reset. */
  connectionsPerSecond: number;
}

/** Exchanges under way at once. More bring no more: the programs at both ends are then what limits (measured: 32 as 128). */
const window = 32;
const connectionsAtOnce = 8;
/** A datagram that was lost is given up after this, in milliseconds. */
const lostMs = 200;

const [address = '', portText = '', durationText = ''] = process.argv.slice(2);
const port = Number(portText);
const durationMs = Number(durationText);
const request = (id: string): string => JSON.stringify({ id });

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function exchange(socket: Socket): Promise<void> {
  socket.send(request('x'), port, address);
  await once(socket, 'message', { signal: AbortSignal.timeout(lostMs) });
}

async function roundTrips(): Promise<number> {
  const socket = createSocket('udp4');
  const times: number[] = [];
  const end = performance.now() + durationMs;
  while (performance.now() < end) {
    const begin = performance.now();
    await exchange(socket);
    times.push(performance.now() - begin);
  }
  socket.close();
  return median(times);
}

/** A new request for each answer. */
async function packets(): Promise<number> {
  const socket = createSocket('udp4');
  let answered = 0;
  socket.on('message', () => {
    answered++;
    socket.send(request('x'), port, address);
  });
  for (let n = 0; n < window; n++) socket.send(request('x'), port, address);
  const begin = performance.now();
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  const seconds = (performance.now() - begin) / 1000;
  socket.removeAllListeners('message');
  socket.close();
  return (2 * answered) / seconds;
}

async function connection(): Promise<void> {
  const socket = connect({ host: address, port, noDelay: true });
  await once(socket, 'connect');
  socket.end(`${request('x')}\n`);
  await once(socket, 'data');
  // Without TIME_WAIT, lest the client run out of ports.
  socket.resetAndDestroy();
}

async function connections(): Promise<number> {
  let made = 0;
  const begin = performance.now();
  const end = begin + durationMs;
  await Promise.all(
    Array.from({ length: connectionsAtOnce }, async () => {
      while (performance.now() < end) {
        await connection();
        made++;
      }
    }),
  );
  return made / ((performance.now() - begin) / 1000);
}

const result: LoadResult = {
  roundTripMs: await roundTrips(),
  packetsPerSecond: await packets(),
  connectionsPerSecond: await connections(),
};
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
