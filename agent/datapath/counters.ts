/**
 * What the sets have counted, so that counters go on where a mapping's element, or all of the table, is written anew:
 * the new one starts from what was last read, whether by a look, by a scrape of the metrics, or just before the change.
 * What was counted after that and before the change is lost; no counter is ever less than one that somebody has read.
 */
import { run } from './command.ts';
import { type Counter, differing, type Elements, tableName } from './elements.ts';
import { type ElementSets, type SetName, setNames } from './ruleset.ts';

/** More keys than this are read by listing their set: a command line has an end. */
const mostKeys = 200;

type Remembered = Counter & { comment: string };

export class CounterMemory {
  readonly #sets = new Map<SetName, Map<string, Remembered>>(setNames.map((name) => [name, new Map()]));

  /** Takes note of a reading; one that is older than another is no step back. */
  note(set: SetName, key: string, comment: string, { packets, bytes }: Counter): void {
    const there = this.#sets.get(set)?.get(key);
    const isSame = there?.comment === comment;
    this.#sets.get(set)?.set(key, {
      comment,
      packets: isSame ? Math.max(packets, there.packets) : packets,
      bytes: isSame ? Math.max(bytes, there.bytes) : bytes,
    });
  }

  noteAll(sets: ElementSets): void {
    for (const name of setNames) {
      for (const [key, { comment = '', counter }] of sets[name])
        if (counter !== undefined) this.note(name, key, comment, counter);
    }
  }

  /** What is wanted, each element with what was counted under its key for the same mapping. */
  seed(want: ElementSets): ElementSets {
    const seeded = (name: SetName, elements: Elements): Elements =>
      new Map(
        [...elements].map(([key, element]) => {
          const there = this.#sets.get(name)?.get(key);
          if (there === undefined || there.comment !== (element.comment ?? '')) return [key, element];
          return [key, { ...element, counter: { packets: there.packets, bytes: there.bytes } }];
        }),
      );
    return Object.fromEntries(setNames.map((name) => [name, seeded(name, want[name])])) as ElementSets;
  }

  /** A mapping that goes and comes again counts from nothing. */
  forgetOthers(want: ElementSets): void {
    for (const [name, keys] of this.#sets) for (const key of keys.keys()) if (!want[name].has(key)) keys.delete(key);
  }

  /**
   * Reads the counters of elements that are about to be replaced by others of the same key.
   * @throws CommandError
   */
  async readReplaced(have: ElementSets, want: ElementSets): Promise<void> {
    for (const name of setNames) {
      const keys = [...differing(have[name], want[name]).keys()].filter((key) => want[name].has(key));
      if (keys.length === 0) continue;
      const text =
        keys.length > mostKeys
          ? await run('nft', ['list', 'set', 'ip', tableName, name])
          : await run('nft', ['get', 'element', 'ip', tableName, name, `{ ${keys.join(', ')} }`]);
      for (const match of text.matchAll(/("[^"\n]+" \. \S+ \. \S+) counter packets (\d+) bytes (\d+)/g)) {
        const [, key = '', packets, bytes] = match;
        this.note(name, key, have[name].get(key)?.comment ?? '', { packets: Number(packets), bytes: Number(bytes) });
      }
    }
  }
}
