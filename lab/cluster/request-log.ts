/** One JSON line per request, for people and for scenarios that count requests. */
import { createWriteStream } from 'node:fs';

export interface RequestLine {
  /** ISO 8601. */
  time: string;
  level: 'debug';
  /** `answered`: the reply, or a watch's first bytes, went out. `ended`: a watch is over. `cut`: the client or a fault cut it. */
  stage: 'answered' | 'ended' | 'cut';
  method: string;
  path: string;
  query: string;
  user: string;
  status: number;
  /** Since the request came in. */
  milliseconds: number;
}

export interface RequestLog {
  write(line: RequestLine): void;
  close(): Promise<void>;
}

/** `file` as in the configuration: a path, `stderr`, or undefined for none. */
export function openRequestLog(file: string | undefined): RequestLog {
  if (file === undefined) return { write: () => {}, close: async () => {} };
  if (file === 'stderr') {
    return { write: (line) => process.stderr.write(`${JSON.stringify(line)}\n`), close: async () => {} };
  }
  const stream = createWriteStream(file, { flags: 'a' });
  return {
    write: (line) => stream.write(`${JSON.stringify(line)}\n`),
    close: () => new Promise((resolve) => stream.end(resolve)),
  };
}
