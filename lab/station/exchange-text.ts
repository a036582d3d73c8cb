/** What client and responder say to each other: JSON padded with spaces, a newline at its end on TCP. */
import type { EchoReply } from './protocol.ts';

export interface EchoRequest {
  id: string;
  /** Bytes of answer asked for. */
  replySize?: number;
}

/** JSON of `value`, followed by spaces up to `size` bytes; longer when the JSON alone is. */
export function padded(value: EchoRequest | EchoReply, size = 0): Buffer {
  const text = JSON.stringify(value);
  return Buffer.from(text.padEnd(size, ' '));
}

/** The message, or null for bytes that are none: strangers send what they like. */
export function parseMessage<Message>(bytes: Buffer): Message | null {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return typeof value === 'object' && value !== null && 'id' in value ? (value as Message) : null;
  } catch {
    return null;
  }
}

/** Cuts a TCP stream into lines; calls `onLine` for each whole one. */
export function lineReader(onLine: (line: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      onLine(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
    }
  };
}
