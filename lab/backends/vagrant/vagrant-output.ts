/** What `vagrant up` prints, as it prints it: which machine has come how far. */
import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

export interface MachineLine {
  machine: string;
  text: string;
}

/** `==> edge-a: Starting domain.` and what it prints below that, `    edge-a: SSH address: ...`. */
export function machineLine(line: string): MachineLine | null {
  const [, machine, text] = /^(?:==>| {3}) ([\w-]+): (.*\S)\s*$/.exec(line) ?? [];
  return machine === undefined || text === undefined ? null : { machine, text };
}

/** Follows a file that grows. */
export class GrowingFile {
  readonly #path: string;
  readonly #decoder = new StringDecoder('utf8');
  #offset = 0;
  #rest = '';

  constructor(path: string) {
    this.#path = path;
  }

  /** The whole lines that have come since the last call. */
  newLines(): string[] {
    let file: number;
    try {
      file = openSync(this.#path, 'r');
    } catch {
      return [];
    }
    try {
      const buffer = Buffer.alloc(65_536);
      for (;;) {
        const length = readSync(file, buffer, 0, buffer.length, this.#offset);
        if (length === 0) break;
        this.#offset += length;
        this.#rest += this.#decoder.write(buffer.subarray(0, length));
      }
    } finally {
      closeSync(file);
    }
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}
