/** The objects of one kind as they were last seen. */
import { isDeepStrictEqual } from 'node:util';
import { objectKey, type StoredObject } from './resources.ts';

/** Told for each object that differs in more than its resourceVersion. */
export type OnChange = (key: string, change: 'added' | 'changed' | 'deleted') => void;

function meaning<Item extends StoredObject>(object: Item): unknown {
  return { ...object, metadata: { ...object.metadata, resourceVersion: undefined } };
}

export class Store<Item extends StoredObject> {
  #objects = new Map<string, Item>();
  readonly #onChange: OnChange;

  constructor(onChange: OnChange) {
    this.#onChange = onChange;
  }

  get(key: string): Item | undefined {
    return this.#objects.get(key);
  }

  list(): Item[] {
    return [...this.#objects.values()];
  }

  set(object: Item): void {
    const key = objectKey(object);
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    if (old === undefined) this.#onChange(key, 'added');
    else if (!isDeepStrictEqual(meaning(old), meaning(object))) this.#onChange(key, 'changed');
  }

  delete(object: StoredObject): void {
    const key = objectKey(object);
    if (this.#objects.delete(key)) this.#onChange(key, 'deleted');
  }

  /** What a list says: all there is. */
  replace(objects: readonly Item[]): void {
    const keys = new Set(objects.map(objectKey));
    for (const object of objects) this.set(object);
    for (const object of this.list()) if (!keys.has(objectKey(object))) this.delete(object);
  }

  /**
   * What a write of ours has made of an object, ahead of the watch; nothing when the watch has been faster.
   * @param writtenOver resourceVersion that the write replaced
   */
  setWritten(object: Item, writtenOver: string | undefined): void {
    if (this.#objects.get(objectKey(object))?.metadata?.resourceVersion === writtenOver) this.set(object);
  }
}
