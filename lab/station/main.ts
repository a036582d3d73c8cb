/**
 * The station: resident on every host, pod and client of a lab. Reads requests as JSON lines from standard input and
 * answers on standard output; node built-ins only, since every host pays for its start. When its input ends it ends
 * everything it started, and itself.
 */
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { awaitEnd, exec, killAll, signalProcess, spawnProcess } from './children.ts';
import { push, startEcho, stopEcho, takeSightings } from './echo.ts';
import { reportFlow, startFlow, stopFlow } from './flow.ts';
import { probe } from './probe.ts';
import type { StationMessage, StationOperation, StationOperations, StationRequest } from './protocol.ts';
import { closeSocket, openSocket, sendFromSocket, takeReceived } from './sockets.ts';

function say(message: StationMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** The end of a file, or all of it. */
function readText(path: string, lastBytes: number | undefined): string {
  if (lastBytes === undefined) return readFileSync(path, 'utf8');
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const buffer = Buffer.alloc(Math.min(size, lastBytes));
    readSync(file, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString();
  } finally {
    closeSync(file);
  }
}

type Handlers = {
  [Operation in StationOperation]: (
    params: StationOperations[Operation]['params'],
  ) => StationOperations[Operation]['result'] | Promise<StationOperations[Operation]['result']>;
};

const handlers: Handlers = {
  ping: () => ({ pid: process.pid, node: process.version }),
  exec,
  spawn: (params) => spawnProcess(params, (end) => say({ event: 'exit', ...end })),
  kill: (params) => {
    signalProcess(params);
    return {};
  },
  awaitEnd,
  readFile: ({ path, lastBytes }) => ({ text: readText(path, lastBytes) }),
  writeFile: ({ path, text, mode }) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: mode ?? 0o644 });
    return {};
  },
  echoStart: startEcho,
  echoStop: ({ server }) => {
    stopEcho(server);
    return {};
  },
  echoSightings: ({ server }) => ({ sightings: takeSightings(server) }),
  echoPush: push,
  probe,
  flowStart: startFlow,
  flowReport: ({ flow }) => reportFlow(flow),
  flowStop: ({ flow }) => stopFlow(flow),
  socketOpen: openSocket,
  socketSend: sendFromSocket,
  socketReceived: takeReceived,
  socketClose: ({ socket }) => {
    closeSocket(socket);
    return {};
  },
};

async function answer(line: string): Promise<void> {
  let id = -1;
  try {
    const request = JSON.parse(line) as StationRequest;
    id = request.id;
    if (!Object.hasOwn(handlers, request.operation)) {
      throw new Error(`a station knows no operation "${request.operation}"`);
    }
    const handler = handlers[request.operation] as (params: unknown) => unknown;
    say({ id, result: await handler(request.params) });
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    say({ id, error: { message, ...(code === undefined ? {} : { code }) } });
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => void answer(line))
  .on('close', () => {
    killAll();
    process.exit(0);
  });
// Whoever read the answers is gone.
process.stdout.on('error', () => {
  killAll();
  process.exit(1);
});
say({ event: 'ready', pid: process.pid });
