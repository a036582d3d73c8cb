/**
 * Reads the kernel's own messages about changed rulesets, as `nft --debug=mnl monitor` shows them before it makes sense
 * of them. What `nft monitor` itself prints will not do: that of nft 1.0.6 crashes at the first element of a set of
 * concatenated ranges (measured), and it does not say whose change it was. A message does: its port number is the
 * sender's process id.
 */
import { tableName } from './elements.ts';

/** Message types of subsystem 10, nftables. */
const firstType = 10 << 8;
const lastType = firstType + 0xff;
/** NFT_MSG_NEWGEN ends the messages of a transaction, with a number that grows by one. */
const newGeneration = firstType + 15;

const line = '\\|[^\\n]*\\n';
const separator = '-{16}\\t-{18}\\n';
/** One message as libmnl prints it: length, type, flags, sender's port, attributes. */
const message = new RegExp(
  `${separator}\\| +(\\d{10}) +${line}\\| (\\d{5}) \\| (\\S{4}) \\|[^\\n]*\\n${line}\\| +(\\d{10}) +${line}${separator}((?:${line})*)${separator}`,
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

/** The kernel's messages about rulesets are shorter, in bytes: one is about one rule or one element. */
const longestMessage = 4096;
/** Milliseconds. */
const gatherMs = 5;
const recentMs = 10_000;
const rememberedPorts = 64;

export class RulesetEvents {
  readonly #onChange: (port: number) => void;
  readonly #onGarbage: (unfinished: number[]) => void;
  #rest = '';
  #isGathering = false;
  #isLost = false;
  #generation = 0;
  /** Ports of messages about our table since the last generation. */
  readonly #ports = new Set<number>();
  /** Ports of all messages since then. */
  readonly #open = new Set<number>();
  /** When transactions of a sender have last ended: what comes of it soon after is what is left in the buffer. */
  readonly #ended = new Map<number, number>();

  /**
   * @param onChange called for each transaction on our table, with the port number of its sender
   * @param onGarbage called when the monitor is lost: it takes what older messages have left in its buffer for one of up to
   * gigabytes, which it shows for seconds, until it crashes (measured with nft 1.0.6). Told are the senders of
   * transactions, on whichever table, that have not been seen to end: a flush of everything begins with others' tables.
   */
  constructor(onChange: (port: number) => void, onGarbage: (unfinished: number[]) => void) {
    this.#onChange = onChange;
    this.#onGarbage = onGarbage;
  }

  /** nft hands on a line at a time: messages are looked for once there are some. */
  read(text: string): void {
    if (this.#isLost) return;
    this.#rest += text;
    if (this.#isGathering) return;
    this.#isGathering = true;
    setTimeout(() => {
      this.#isGathering = false;
      this.#readMessages();
    }, gatherMs).unref();
  }

  #readMessages(): void {
    let end = 0;
    for (const match of this.#rest.matchAll(message)) {
      const [whole, length, type = '', flags = '', port, body = ''] = match;
      end = match.index + whole.length;
      if (Number(length) > longestMessage) this.#isLost = true;
      if (this.#isLost) break;
      // Requests are the monitor's own.
      if (flags.startsWith('R') || Number(type) < firstType || Number(type) > lastType) continue;
      if (Number(type) === newGeneration) {
        this.#endTransaction(Number(port), body);
      } else {
        this.#open.add(Number(port));
        if (ourTable.test(body)) this.#ports.add(Number(port));
      }
    }
    this.#rest = this.#rest.slice(end);
    this.#isLost ||= [...this.#rest.matchAll(claimedLength)].some(([, length]) => Number(length) > longestMessage);
    if (!this.#isLost) return;
    const since = performance.now() - recentMs;
    this.#onGarbage([...this.#open].filter((port) => !((this.#ended.get(port) ?? 0) > since)));
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
    this.#ended.set(port, performance.now());
    if (this.#ended.size > rememberedPorts) this.#ended.delete([...this.#ended.keys()][0] ?? 0);
    const isOurs = this.#ports.has(port);
    this.#ports.clear();
    this.#open.clear();
    if (isOurs) this.#onChange(port);
  }
}
