/** Echo responders: tell a client which source address it had here. */
import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import { type EchoRequest, lineReader, padded, parseMessage } from './exchange-text.ts';
import type { EchoReply, EchoServerRequest, EchoSighting, StationOperations } from './protocol.ts';

/** Kept for whoever asks what arrived; a flood must not fill the memory. */
const sightingsLimit = 100_000;

interface Responder {
  request: EchoServerRequest;
  sightings: EchoSighting[];
  datagramSockets: Map<number, DatagramSocket>;
  servers: Server[];
  /** Open connections by `peer:peerPort`. */
  connections: Map<string, Socket>;
  stopped: boolean;
}

const responders = new Map<number, Responder>();
let nextServer = 1;

function responder(server: number): Responder {
  const found = responders.get(server);
  if (found === undefined) throw new Error(`no echo responder ${server}`);
  return found;
}

/** Notes what arrived and gives the answer, unless this responder is silent. */
function answerTo(
  responder: Responder,
  bytes: Buffer,
  peer: { address: string; port: number },
  port: number,
  send: (answer: Buffer) => void,
): void {
  const { request, sightings } = responder;
  const message = parseMessage<EchoRequest>(bytes);
  const id = message?.id ?? '';
  const sighting = {
    id,
    protocol: request.protocol,
    peer: peer.address,
    peerPort: peer.port,
    port,
    bytes: bytes.length,
  };
  if (sightings.length < sightingsLimit) sightings.push({ ...sighting, at: Date.now() });
  if (request.silent === true || message === null) return;
  const { pod, node } = request;
  const reply: EchoReply = { id, peer: peer.address, peerPort: peer.port, port, pod, node, received: bytes.length };
  const answer = (): void => {
    // A delayed answer may come due when the sockets are closed: sending then would throw and end the station.
    if (!responder.stopped) send(padded(reply, message.replySize));
  };
  if (request.delayMs === undefined || request.delayMs === 0) answer();
  else setTimeout(answer, request.delayMs);
}

function listenUdp(responder: Responder, port: number): Promise<void> {
  const socket = createSocket('udp4');
  responder.datagramSockets.set(port, socket);
  socket.on('message', (bytes, peer) => {
    // The client may be gone: its ICMP error is not this responder's failure.
    answerTo(responder, bytes, peer, port, (answer) => socket.send(answer, peer.port, peer.address, () => undefined));
  });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind({ port, address: responder.request.address ?? '0.0.0.0' }, () => {
      socket.off('error', reject);
      socket.on('error', () => undefined);
      resolve();
    });
  });
}

function listenTcp(responder: Responder, port: number): Promise<void> {
  const server = createServer((connection) => {
    const peer = { address: connection.remoteAddress ?? '', port: connection.remotePort ?? 0 };
    const key = `${peer.address}:${peer.port}`;
    responder.connections.set(key, connection);
    connection.on('error', () => undefined);
    connection.on('close', () => responder.connections.delete(key));
    connection.setNoDelay(true);
    connection.on(
      'data',
      lineReader((line) => {
        answerTo(responder, line, peer, port, (answer) => connection.write(Buffer.concat([answer, Buffer.from('\n')])));
      }),
    );
  });
  responder.servers.push(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: responder.request.address ?? '0.0.0.0' }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** @throws Error with the errno when a port of the range cannot be bound; then none is */
export async function startEcho(request: EchoServerRequest): Promise<StationOperations['echoStart']['result']> {
  const server = nextServer++;
  const made: Responder = {
    ...{ request, sightings: [], datagramSockets: new Map(), servers: [], connections: new Map(), stopped: false },
  };
  responders.set(server, made);
  const listen = request.protocol === 'UDP' ? listenUdp : listenTcp;
  const ports = Array.from(
    { length: (request.endPort ?? request.port) - request.port + 1 },
    (_, n) => request.port + n,
  );
  try {
    await Promise.all(ports.map((port) => listen(made, port)));
  } catch (error) {
    stopEcho(server);
    throw error;
  }
  return { server };
}

export function stopEcho(server: number): void {
  const stopped = responder(server);
  const { datagramSockets, servers, connections } = stopped;
  stopped.stopped = true;
  responders.delete(server);
  for (const socket of datagramSockets.values()) closeSocket(socket);
  for (const each of servers) each.close();
  for (const connection of connections.values()) connection.destroy();
}

function closeSocket(socket: DatagramSocket): void {
  try {
    socket.close();
  } catch {
    // Never bound.
  }
}

export function takeSightings(server: number): EchoSighting[] {
  return responder(server).sightings.splice(0);
}

/**
 * The responder speaks first, from its listening port.
 * @throws Error when it does not listen there, or (TCP) has no connection from that peer
 */
export function push({
  server,
  peer,
  peerPort,
  port,
  id,
}: StationOperations['echoPush']['params']): Promise<{ bytes: number }> {
  const { request, datagramSockets, connections } = responder(server);
  const { pod, node } = request;
  const text = padded({ id, peer, peerPort, port, pod, node, received: 0 });
  return new Promise((resolve, reject) => {
    const sent = (error?: Error | null): void => {
      if (error) reject(error);
      else resolve({ bytes: text.length });
    };
    if (request.protocol === 'UDP') {
      const socket = datagramSockets.get(port);
      if (socket === undefined) throw new Error(`the responder does not listen on ${port}/UDP`);
      socket.send(text, peerPort, peer, sent);
    } else {
      const connection = connections.get(`${peer}:${peerPort}`);
      if (connection === undefined) throw new Error(`no open connection from ${peer}:${peerPort}`);
      connection.write(Buffer.concat([text, Buffer.from('\n')]), sent);
    }
  });
}
