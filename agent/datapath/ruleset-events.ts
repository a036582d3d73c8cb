/**
 * Reads the kernel's own messages about changed rulesets, as `nft --debug=mnl monitor` shows them before it makes sense
 * of them. What `nft monitor` itself prints will not do: that of nft 1.0.6 crashes at the first element of a set of
 * concatenated ranges (measured), and it does not say whose change it was. A message does: its port number is the
 * sender's process id.
 */
import { tableName } from './elements.ts';

/** NFT_MSG_NEWGEN of subsystem 10, nftables: ends the messages of a transaction, with a number that grows by one. */
const newGeneration = '02575';

const line = '\\|[^\\n]*\\n';
const separator = '-{16}\\t-{18}\\n';
/** One message as libmnl prints it: type, flags, sender's port, attributes. */
const message = new RegExp(
  `${separator}${line}\\| (\\d{5}) \\| (\\S{4}) \\|[^\\n]*\\n${line}\\| +(\\d{10}) +${line}${separator}((?:${line})*)${separator}`,
  'g',
);
/** "kuport", four bytes a line. */
const ourTable = new RegExp(
  (
    Buffer.from(`${tableName}\0`)
      .toString('hex')
      .match(/.{1,8}/g) ?? []
  )
    .map((word) => (word.match(/../g) ?? []).join(' '))
    .join(`  ${line}\\| `),
);
/** The length that a message claims to have, in bytes. */
const claimedLength = /\| +(\d{10}) +\|\t\| message length/g;
const firstData = /^\| (\w\w) (\w\w) (\w\w) (\w\w) {2}\|\t\| +data/m;

/** The kernel's messages about rulesets are shorter, in bytes: it sends them in buffers of 8 kB. */
const longestMessage = 16_384;
/** And so is what is shown of one, in characters. */
const longestRest = 20 * longestMessage;

export class RulesetEvents {
  readonly #onChange: (port: number) => void;
  readonly #onGarbage: () => void;
  #rest = '';
  #isLost = false;
  #generation = 0;
  /** Ports of messages about our table since the last generation. */
  readonly #ports = new Set<number>();

  /**
   * @param onChange called for each transaction on our table, with the port number of its sender
   * @param onGarbage called when the monitor is lost: it takes what older messages have left in its buffer for one of up to
   * gigabytes, which it shows for seconds, until it crashes (measured with nft 1.0.6)
   */
  constructor(onChange: (port: number) => void, onGarbage: () => void) {
    this.#onChange = onChange;
    this.#onGarbage = onGarbage;
  }

  read(text: string): void {
    if (this.#isLost) return;
    const all = this.#rest + text;
    let end = 0;
    for (const match of all.matchAll(message)) {
      end = match.index + match[0].length;
      const [, type = '', flags = '', port, body = ''] = match;
      // Requests are the monitor's own.
      if (flags.startsWith('R')) continue;
      if (type === newGeneration) this.#endTransaction(Number(port), body);
      else if (ourTable.test(body)) this.#ports.add(Number(port));
    }
    this.#rest = all.slice(end).slice(-longestRest);
    this.#isLost = [...this.#rest.matchAll(claimedLength)].some(([, length]) => Number(length) > longestMessage);
    if (this.#isLost) this.#onGarbage();
  }

  /**
   * nft shows all of its buffer (measured): after each message come what is left there of older ones. Those have a
   * generation that has been seen, or another sender than the transaction that is new.
   */
  #endTransaction(port: number, body: string): void {
    const bytes = firstData.exec(body)?.slice(1) ?? [];
    const generation = Number.parseInt(bytes.join(''), 16);
    if (!(generation > this.#generation)) return;
    this.#generation = generation;
    const isOurs = this.#ports.has(port);
    this.#ports.clear();
    if (isOurs) this.#onChange(port);
  }
}
