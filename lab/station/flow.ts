/** A steady flow: N requests a second from one port, with every loss accounted for. */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { lineReader, padded, parseMessage } from './exchange-text.ts';
import type { EchoReply, FlowReport, FlowRequest, StationOperations } from './protocol.ts';

const defaultAnswerMs = 1000;

class Flow {
  readonly request: FlowRequest;
  readonly #answerMs: number;
  sourcePort = 0;
  readonly #sentAt = new Map<number, number>();
  readonly #peers: Record<string, number> = {};
  readonly #pods: Record<string, number> = {};
  #sent = 0;
  #answered = 0;
  #lost = 0;
  #foreign = 0;
  #longestGapMs = 0;
  #lastAnswerAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #send: (bytes: Buffer) => void = () => undefined;
  #close: () => void = () => undefined;

  constructor(request: FlowRequest) {
    this.request = request;
    this.#answerMs = request.answerMs ?? defaultAnswerMs;
  }

  async open(): Promise<void> {
    await (this.request.protocol === 'UDP' ? this.#openUdp() : this.#openTcp());
    const begin = performance.now();
    this.#lastAnswerAt = begin;
    const interval = 1000 / this.request.perSecond;
    // Each request has its own due time, counted from the start: late timers are caught up with and do not add up.
    const tick = (): void => {
      while (begin + this.#sent * interval <= performance.now()) this.#next();
      this.#expire();
      this.#timer = setTimeout(tick, Math.max(0, begin + this.#sent * interval - performance.now()));
    };
    tick();
  }

  report(): FlowReport {
    this.#expire();
    return {
      sent: this.#sent,
      answered: this.#answered,
      lost: this.#lost,
      foreign: this.#foreign,
      peers: { ...this.#peers },
      pods: { ...this.#pods },
      longestGapMs: Math.max(this.#longestGapMs, performance.now() - this.#lastAnswerAt),
      sourcePort: this.sourcePort,
    };
  }

  /** Sends no more, waits until every request is answered or lost, and closes. */
  async stop(): Promise<FlowReport> {
    clearTimeout(this.#timer);
    const stopped = performance.now();
    while (this.#sentAt.size > 0 && performance.now() < stopped + this.#answerMs) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const report = this.report();
    this.#close();
    // Nobody asked during the wait above: its silence is no gap.
    return { ...report, longestGapMs: Math.max(this.#longestGapMs, stopped - this.#lastAnswerAt) };
  }

  #next(): void {
    const number = this.#sent++;
    this.#sentAt.set(number, performance.now());
    this.#send(padded({ id: String(number) }, this.request.size));
  }

  #expire(): void {
    const limit = performance.now() - this.#answerMs;
    for (const [number, at] of this.#sentAt) {
      if (at > limit) break;
      this.#sentAt.delete(number);
      this.#lost++;
    }
  }

  #receive(bytes: Buffer, from: string, fromPort: number): void {
    // While the flow stops no timer looks for requests whose time is over: a late answer must not count.
    this.#expire();
    const reply = parseMessage<EchoReply>(bytes);
    if (reply === null || !this.#sentAt.delete(Number(reply.id))) return;
    const now = performance.now();
    this.#longestGapMs = Math.max(this.#longestGapMs, now - this.#lastAnswerAt);
    this.#lastAnswerAt = now;
    this.#answered++;
    if (from !== this.request.address || fromPort !== this.request.port) this.#foreign++;
    const peer = `${reply.peer}:${reply.peerPort}`;
    this.#peers[peer] = (this.#peers[peer] ?? 0) + 1;
    this.#pods[reply.pod] = (this.#pods[reply.pod] ?? 0) + 1;
  }

  #openUdp(): Promise<void> {
    const socket = createSocket('udp4');
    const { address, port, sourcePort = 0 } = this.request;
    this.#send = (bytes) => socket.send(bytes, port, address, () => undefined);
    this.#close = () => socket.close();
    socket.on('message', (bytes, peer) => this.#receive(bytes, peer.address, peer.port));
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(sourcePort, () => {
        socket.off('error', reject);
        socket.on('error', () => undefined);
        this.sourcePort = socket.address().port;
        resolve();
      });
    });
  }

  #openTcp(): Promise<void> {
    const { address, port, sourcePort } = this.request;
    const socket = connect({ host: address, port, ...(sourcePort === undefined ? {} : { localPort: sourcePort }) });
    socket.setNoDelay(true);
    this.#send = (bytes) => {
      if (!socket.destroyed) socket.write(Buffer.concat([bytes, Buffer.from('\n')]));
    };
    this.#close = () => socket.destroy();
    socket.on(
      'data',
      lineReader((line) => this.#receive(line, socket.remoteAddress ?? '', socket.remotePort ?? 0)),
    );
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        // A reset is a loss of all that follows; the report tells.
        socket.on('error', () => undefined);
        this.sourcePort = socket.localPort ?? 0;
        resolve();
      });
    });
  }
}

const flows = new Map<number, Flow>();
let nextFlow = 1;

function flow(number: number): Flow {
  const found = flows.get(number);
  if (found === undefined) throw new Error(`no flow ${number}`);
  return found;
}

/** @throws Error when the port is taken or the connection cannot be made */
export async function startFlow(request: FlowRequest): Promise<StationOperations['flowStart']['result']> {
  const made = new Flow(request);
  await made.open();
  const number = nextFlow++;
  flows.set(number, made);
  return { flow: number, sourcePort: made.sourcePort };
}

export function reportFlow(number: number): FlowReport {
  return flow(number).report();
}

export async function stopFlow(number: number): Promise<FlowReport> {
  const found = flow(number);
  flows.delete(number);
  return found.stop();
}
