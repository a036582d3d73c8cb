/** UDP sockets kept open: to send at will and to hear who pushes. */
import { createSocket, type Socket } from 'node:dgram';
import type { StationOperations } from './protocol.ts';

type Datagram = StationOperations['socketReceived']['result']['datagrams'][number];

interface OpenSocket {
  socket: Socket;
  heard: Datagram[];
  arrived: (() => void) | undefined;
}

const sockets = new Map<number, OpenSocket>();
let nextSocket = 1;

function open(number: number): OpenSocket {
  const found = sockets.get(number);
  if (found === undefined) throw new Error(`no socket ${number}`);
  return found;
}

export function openSocket({
  sourcePort = 0,
}: StationOperations['socketOpen']['params']): Promise<{ socket: number; sourcePort: number }> {
  const socket = createSocket('udp4');
  const made: OpenSocket = { socket, heard: [], arrived: undefined };
  socket.on('message', (bytes, peer) => {
    made.heard.push({ from: peer.address, fromPort: peer.port, text: bytes.toString().trimEnd(), at: Date.now() });
    made.arrived?.();
  });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(sourcePort, () => {
      socket.off('error', reject);
      socket.on('error', () => undefined);
      const number = nextSocket++;
      sockets.set(number, made);
      resolve({ socket: number, sourcePort: socket.address().port });
    });
  });
}

export function sendFromSocket({
  socket,
  address,
  port,
  text,
}: StationOperations['socketSend']['params']): Promise<Record<string, never>> {
  return new Promise((resolve, reject) => {
    open(socket).socket.send(text, port, address, (error) => (error ? reject(error) : resolve({})));
  });
}

/** Waits up to waitMs for `atLeast` datagrams and hands out all that came. */
export async function takeReceived({
  socket,
  waitMs,
  atLeast,
}: StationOperations['socketReceived']['params']): Promise<{ datagrams: Datagram[] }> {
  const found = open(socket);
  const deadline = performance.now() + waitMs;
  while (found.heard.length < atLeast && performance.now() < deadline) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, deadline - performance.now());
      found.arrived = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
  found.arrived = undefined;
  return { datagrams: found.heard.splice(0) };
}

export function closeSocket(number: number): void {
  open(number).socket.close();
  sockets.delete(number);
}
