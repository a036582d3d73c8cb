/**
 * The words a station understands: JSON, one message a line, over whatever pipe the backend has.
 * A request carries an `id`; the answer carries the same id and either `result` or `error`. Events carry no id.
 */

export type Protocol = 'UDP' | 'TCP';

/** Behaviour of an echo responder. Every answer is an EchoReply as JSON, padded with spaces to `size` bytes if asked. */
export interface EchoServerRequest {
  protocol: Protocol;
  /** Address to bind; default all. */
  address?: string;
  port: number;
  endPort?: number;
  /** Who is speaking, repeated in each answer. */
  pod: string;
  node: string;
  /** Milliseconds to wait before an answer. Default 0. */
  delayMs?: number;
  /** Count and report what arrives but answer nothing. Default false. */
  silent?: boolean;
}

/** What a responder tells its client. */
export interface EchoReply {
  /** The request's own id, so that a late answer is not taken for another's. */
  id: string;
  /** The source address and port the responder saw: what this whole project is about. */
  peer: string;
  peerPort: number;
  /** The responder's port that was reached. */
  port: number;
  pod: string;
  node: string;
  /** Bytes of payload that arrived. */
  received: number;
}

/** One datagram or connection as the responder saw it. */
export interface EchoSighting {
  id: string;
  protocol: Protocol;
  peer: string;
  peerPort: number;
  port: number;
  bytes: number;
  /** Milliseconds since the epoch. */
  at: number;
}

export interface ProbeRequest {
  protocol: Protocol;
  address: string;
  port: number;
  /** Local port; 0 or absent lets the kernel choose. */
  sourcePort?: number;
  /** Bytes of request payload at least (never less than the JSON that carries the id). */
  size?: number;
  /** Bytes of answer asked for. */
  replySize?: number;
  /** UDP: connect the socket, so that ICMP errors are heard (and answers from elsewhere are not). Default false. */
  connected?: boolean;
  /** Milliseconds to wait for the answer. */
  timeoutMs: number;
}

/** What one exchange looked like from the client. A probe never throws for what the network did: that is its result. */
export interface ProbeResult {
  id: string;
  outcome: 'answered' | 'timeout' | 'refused' | 'unreachable' | 'reset';
  /** Local address and port used. */
  source: string;
  sourcePort: number;
  /** Where the answer came from, whoever was dialled: the UDP socket is unconnected. Null without an answer. */
  from: string | null;
  fromPort: number | null;
  /** The responder's words. Null without an answer that parses and carries the id. */
  reply: EchoReply | null;
  roundTripMs: number | null;
  /** The errno name for refused, unreachable and reset. */
  errorCode: string | null;
}

export interface FlowRequest {
  protocol: Protocol;
  address: string;
  port: number;
  sourcePort?: number;
  /** Requests per second from one port (TCP: over one connection). */
  perSecond: number;
  size?: number;
  /** An answer after this many milliseconds comes too late: the request counts as lost. Default 1000. */
  answerMs?: number;
}

export interface FlowReport {
  sent: number;
  answered: number;
  /** Sent and not answered within `answerMs`, and not still within that time. */
  lost: number;
  /** Answers from another address or port than the one dialled. */
  foreign: number;
  /** Peer addresses (address:port) that responders reported, each with how many answers carried it. */
  peers: Record<string, number>;
  /** Pods that answered, each with how many answers. */
  pods: Record<string, number>;
  /** Longest time without an answer, in milliseconds. */
  longestGapMs: number;
  sourcePort: number;
}

/** Operation name -> its parameters and result. */
export interface StationOperations {
  ping: { params: Record<string, never>; result: { pid: number; node: string } };
  exec: {
    params: { argv: string[]; input?: string; timeoutMs: number; env?: Record<string, string> };
    result: { code: number; stdout: string; stderr: string; milliseconds: number };
  };
  /** Starts a process that goes on; output appended to logFile. An event `exit` tells its end. */
  spawn: { params: { argv: string[]; logFile: string; env?: Record<string, string> }; result: { pid: number } };
  kill: { params: { pid: number; signal: string }; result: Record<string, never> };
  /** Answers when that process of this station has ended; at once when it has or never was one. */
  awaitEnd: { params: { pid: number }; result: { code: number | null; signal: string | null } };
  readFile: { params: { path: string; lastBytes?: number }; result: { text: string } };
  writeFile: { params: { path: string; text: string; mode?: number }; result: Record<string, never> };
  echoStart: { params: EchoServerRequest; result: { server: number } };
  echoStop: { params: { server: number }; result: Record<string, never> };
  /** What arrived at a responder since the last call (or its start). */
  echoSightings: { params: { server: number }; result: { sightings: EchoSighting[] } };
  /** The responder speaks first: one datagram to that peer from its listening port (TCP: on the peer's open connection). */
  echoPush: {
    params: { server: number; peer: string; peerPort: number; port: number; id: string };
    result: { bytes: number };
  };
  probe: { params: ProbeRequest; result: ProbeResult };
  flowStart: { params: FlowRequest; result: { flow: number; sourcePort: number } };
  flowReport: { params: { flow: number }; result: FlowReport };
  flowStop: { params: { flow: number }; result: FlowReport };
  /** Opens a UDP socket and keeps it, to send and to hear pushes from anyone. */
  socketOpen: { params: { sourcePort?: number }; result: { socket: number; sourcePort: number } };
  socketSend: {
    params: { socket: number; address: string; port: number; text: string };
    result: Record<string, never>;
  };
  /** Datagrams heard on the socket since the last call. */
  socketReceived: {
    params: { socket: number; waitMs: number; atLeast: number };
    result: { datagrams: { from: string; fromPort: number; text: string; at: number }[] };
  };
  socketClose: { params: { socket: number }; result: Record<string, never> };
}

export type StationOperation = keyof StationOperations;

export interface StationRequest<Operation extends StationOperation = StationOperation> {
  id: number;
  operation: Operation;
  params: StationOperations[Operation]['params'];
}

export type StationMessage =
  | { id: number; result: unknown }
  | { id: number; error: { message: string; code?: string } }
  | { event: 'exit'; pid: number; code: number | null; signal: string | null }
  | { event: 'ready'; pid: number };
