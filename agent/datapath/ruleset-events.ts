/**
 * Reads the kernel's own messages about changed rulesets, as `nft --debug=mnl monitor` shows them before it makes sense
 * of them. What `nft monitor` itself prints will not do: that of nft 1.0.6 crashes at the first element of an interval map
 * (measured), and it does not say whose change it was. A message does: its port number is the sender's process id.
 */
import { tableName } from './elements.ts';

/** Message types of subsystem 10, nftables, and NFT_MSG_NEWGEN, which ends the messages of a transaction. */
const firstType = 10 << 8;
const lastType = firstType + 0xff;
const newGeneration = firstType + 15;

/** "kuport", a word of four bytes a line, as libmnl prints an attribute. */
const tableWords =
  Buffer.from(`${tableName}\0`)
    .toString('hex')
    .match(/.{1,8}/g) ?? [];
const tablePattern = tableWords.map((word) => (word.match(/../g) ?? []).join(' ')).join('  \\|[^\\n]*\\n\\| ');

/** A message's type and first flag, its sender's port, or our table's name. */
const token = new RegExp(
  `^\\| (\\d{5}) \\| (\\S)\\S{3} \\||^\\| +(\\d{10}) +\\|\\t\\| +port ID|^\\| ${tablePattern}`,
  'gm',
);

export class RulesetEvents {
  readonly #onChange: (port: number) => void;
  #rest = '';
  #port = 0;
  /** Not what the monitor asks at its start, nor what libmnl makes of the bytes that fill up a buffer. */
  #isEvent = false;
  /** Ports told of already in this transaction. */
  readonly #told = new Set<number>();

  /** @param onChange called once for each transaction on our table, with the port number of its sender */
  constructor(onChange: (port: number) => void) {
    this.#onChange = onChange;
  }

  read(text: string): void {
    const all = this.#rest + text;
    // A name takes two lines: the last two may not be whole yet.
    const end = all.lastIndexOf('\n', Math.max(0, all.lastIndexOf('\n', all.lastIndexOf('\n') - 1) - 1)) + 1;
    this.#rest = all.slice(end);
    for (const [, type, flag, port] of all.slice(0, end).matchAll(token)) {
      if (type !== undefined) {
        this.#isEvent = flag !== 'R' && Number(type) >= firstType && Number(type) <= lastType;
        if (Number(type) === newGeneration) this.#told.clear();
      } else if (port !== undefined) {
        this.#port = Number(port);
      } else if (this.#isEvent && !this.#told.has(this.#port)) {
        this.#told.add(this.#port);
        this.#onChange(this.#port);
      }
    }
  }
}
