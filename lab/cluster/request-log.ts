/** One JSON line per request, for people and for scenarios that count requests. */
import { closeSync, openSync, writeSync } from 'node:fs';

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
  close(): void;
}

/** `file` as in the configuration: a path, `stderr`, or undefined for none. */
export function openRequestLog(file: string | undefined): RequestLog {
  if (file === undefined) return { write: () => {}, close: () => {} };
  if (file === 'stderr') {
    return { write: (line) => process.stderr.write(`${JSON.stringify(line)}\n`), close: () => {} };
  }
  // Written at once: a line costs some 10 us, and nothing is missing when the process is killed.
  const descriptor = openSync(file, 'a');
  let open = true;
  return {
    write(line) {
      if (open) writeSync(descriptor, `${JSON.stringify(line)}\n`);
    },
    close() {
      open = false;
      closeSync(descriptor);
    },
  };
}
