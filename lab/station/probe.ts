/** One request and its answer, seen from the client. */
import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { lineReader, padded, parseMessage } from './exchange-text.ts';
import type { EchoReply, ProbeRequest, ProbeResult } from './protocol.ts';

const refusals: Record<string, ProbeResult['outcome']> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EACCES: 'unreachable',
  EPERM: 'unreachable',
};

type Ending = Pick<ProbeResult, 'outcome' | 'from' | 'fromPort' | 'reply' | 'roundTripMs' | 'errorCode'>;

const nothing: Ending = {
  outcome: 'timeout',
  from: null,
  fromPort: null,
  reply: null,
  roundTripMs: null,
  errorCode: null,
};

/** @throws Error for what is not the network's doing: a source port that is taken, an address that does not parse */
function ending(error: NodeJS.ErrnoException): Ending {
  const outcome = refusals[error.code ?? ''];
  if (outcome === undefined) throw error;
  return { ...nothing, outcome, errorCode: error.code ?? null };
}

/**
 * UDP goes through an unconnected socket: an answer counts by its id wherever it comes from, and where it came from is
 * reported. The kernel hands ICMP errors only to connected sockets; with `connected` a closed port is `refused`, and an
 * answer from another address is never seen.
 */
export function probe(request: ProbeRequest): Promise<ProbeResult> {
  return request.protocol === 'UDP' ? probeUdp(request) : probeTcp(request);
}

function probeUdp(request: ProbeRequest): Promise<ProbeResult> {
  const id = randomUUID();
  const socket = createSocket('udp4');
  return new Promise((resolve, reject) => {
    let begin = 0;
    let source = { address: '', port: 0 };
    let timer: NodeJS.Timeout | undefined;
    const finish = (end: Ending): void => {
      clearTimeout(timer);
      socket.close();
      resolve({ id, source: source.address, sourcePort: source.port, ...end });
    };
    const fail = (error: Error): void => {
      try {
        finish(ending(error));
      } catch (unexpected) {
        clearTimeout(timer);
        socket.close();
        reject(unexpected);
      }
    };
    socket.once('error', fail);
    socket.on('message', (bytes, peer) => {
      const reply = parseMessage<EchoReply>(bytes);
      if (reply?.id !== id) return;
      finish({
        ...nothing,
        outcome: 'answered',
        from: peer.address,
        fromPort: peer.port,
        reply,
        roundTripMs: performance.now() - begin,
      });
    });
    const send = (): void => {
      source = socket.address();
      timer = setTimeout(() => finish(nothing), request.timeoutMs);
      begin = performance.now();
      const message = padded(
        { id, ...(request.replySize === undefined ? {} : { replySize: request.replySize }) },
        request.size,
      );
      const sent = (error: Error | null): void => {
        if (error) fail(error);
      };
      if (request.connected === true) socket.send(message, sent);
      else socket.send(message, request.port, request.address, sent);
    };
    socket.bind(request.sourcePort ?? 0, () => {
      if (request.connected === true) socket.connect(request.port, request.address, send);
      else send();
    });
  });
}

function probeTcp(request: ProbeRequest): Promise<ProbeResult> {
  const id = randomUUID();
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const socket = connect({
      host: request.address,
      port: request.port,
      ...(request.sourcePort === undefined ? {} : { localPort: request.sourcePort }),
    });
    let source = { address: '', port: request.sourcePort ?? 0 };
    const finish = (end: Ending): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ id, source: source.address, sourcePort: source.port, ...end });
    };
    const timer = setTimeout(() => finish(nothing), request.timeoutMs);
    socket.setNoDelay(true);
    socket.once('connect', () => {
      source = { address: socket.localAddress ?? '', port: socket.localPort ?? 0 };
      socket.write(
        padded({ id, ...(request.replySize === undefined ? {} : { replySize: request.replySize }) }, request.size),
      );
      socket.write('\n');
    });
    socket.once('error', (error) => {
      try {
        finish(ending(error));
      } catch (unexpected) {
        clearTimeout(timer);
        reject(unexpected);
      }
    });
    socket.on('end', () => finish({ ...nothing, outcome: 'reset' }));
    socket.on(
      'data',
      lineReader((line) => {
        const reply = parseMessage<EchoReply>(line);
        if (reply?.id !== id) return;
        // A connection has one peer: its answers come from the address that was dialled or not at all.
        finish({
          ...nothing,
          outcome: 'answered',
          from: socket.remoteAddress ?? null,
          fromPort: socket.remotePort ?? null,
          reply,
          roundTripMs: performance.now() - begin,
        });
      }),
    );
  });
}
