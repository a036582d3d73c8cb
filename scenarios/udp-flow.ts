/** A client's UDP socket that stays open: what a game or a call is, where a server may speak first after a silence. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ScenarioContext } from '../lab/scenario/context.ts';
import type { EchoReply } from '../lab/station/protocol.ts';
import type { Client } from '../lab/topology/topology.ts';
import type { PodPort } from '../lab/workload/objects.ts';
import type { Pod } from '../lab/workload/workload.ts';

/** What a client has heard: from where, and the responder's words. */
export interface Heard {
  from: string;
  reply: EchoReply;
}

let exchanges = 0;

export class UdpFlow {
  readonly client: Client;
  readonly address: string;
  readonly port: number;
  readonly sourcePort: number;
  readonly #t: ScenarioContext;
  readonly #socket: number;
  /** The client as the pod last saw it. */
  #peer: { address: string; port: number } | null = null;

  private constructor(
    t: ScenarioContext,
    client: Client,
    to: { address: string; port: number },
    socket: number,
    sourcePort: number,
  ) {
    this.#t = t;
    this.client = client;
    this.address = to.address;
    this.port = to.port;
    this.#socket = socket;
    this.sourcePort = sourcePort;
  }

  /** @param sourcePort 0: whichever is free */
  static async open(
    t: ScenarioContext,
    client: Client,
    to: { address: string; port: number },
    sourcePort = 0,
  ): Promise<UdpFlow> {
    const { station } = t.host(client.name);
    const opened = await station.request('socketOpen', sourcePort === 0 ? {} : { sourcePort });
    t.defer(`socket of ${client.name}`, () => station.request('socketClose', { socket: opened.socket }));
    return new UdpFlow(t, client, to, opened.socket, opened.sourcePort);
  }

  /** The same socket, dialling another address. */
  to(address: { address: string; port: number }): UdpFlow {
    return new UdpFlow(this.#t, this.client, address, this.#socket, this.sourcePort);
  }

  get title(): string {
    return `${this.client.name} udp://${this.address}:${this.port}`;
  }

  /** The client as the pod last saw it, `address:port`. */
  get seenAs(): string | null {
    return this.#peer === null ? null : `${this.#peer.address}:${this.#peer.port}`;
  }

  /** The client speaks. @returns the answer, or null when none came in time */
  async ask(waitMs = this.#t.silenceMs): Promise<Heard | null> {
    const id = `ask-${++exchanges}`;
    const { station } = this.#t.host(this.client.name);
    await station.request('socketSend', {
      socket: this.#socket,
      address: this.address,
      port: this.port,
      text: JSON.stringify({ id }),
    });
    const heard = await this.#hear(id, waitMs);
    if (heard !== null) this.#peer = { address: heard.reply.peer, port: heard.reply.peerPort };
    return heard;
  }

  /** The pod speaks first, to the client as it last saw it. @returns what the client hears of that, or null */
  async push(pod: Pod, podPort: PodPort, waitMs = this.#t.silenceMs): Promise<Heard | null> {
    if (this.#peer === null) throw new Error(`${this.title}: nobody has asked yet, so the pod knows no peer`);
    const id = `push-${++exchanges}`;
    await pod.host.station.request('echoPush', {
      server: pod.serverOn(podPort),
      peer: this.#peer.address,
      peerPort: this.#peer.port,
      port: podPort.port,
      id,
    });
    return this.#hear(id, waitMs);
  }

  async #hear(id: string, waitMs: number): Promise<Heard | null> {
    const { station } = this.#t.host(this.client.name);
    const until = performance.now() + waitMs;
    for (;;) {
      const left = Math.max(0, until - performance.now());
      const { datagrams } = await station.request(
        'socketReceived',
        { socket: this.#socket, waitMs: left, atLeast: 1 },
        { timeoutMs: left + 5000 },
      );
      for (const { from, fromPort, text } of datagrams) {
        const reply = JSON.parse(text) as EchoReply;
        if (reply.id === id) return { from: `${from}:${fromPort}`, reply };
      }
      if (left === 0) return null;
    }
  }
}

/** Nobody speaks. */
export function silence(milliseconds: number): Promise<void> {
  return sleep(milliseconds);
}
