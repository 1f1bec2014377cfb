/** What the table needs of a stream. */
export interface TableEntry<T> {
  readonly id: number;
  /** The next entry of the same bucket: the table's alone. */
  next: T | null;
}

const FIRST_BUCKETS = 16;
const MAX_BUCKETS = 4096;

/**
 * The open streams of a session, by id: buckets of linked entries.
 *
 * No `Map`: a map whose entries come and go builds itself anew all the time, each time pointing from the old to the
 * new, and once an old one had lived through a garbage collection, that chain kept every later stream alive until the
 * next great one. A third of a busy relay's time went there.
 */
export class StreamTable<T extends TableEntry<T>> {
  #buckets: (T | null)[] = new Array(FIRST_BUCKETS).fill(null);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): T | undefined {
    let entry = this.#buckets[id % this.#buckets.length];
    while (entry !== null && entry.id !== id) entry = entry.next;
    return entry ?? undefined;
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  /** Adds an entry whose id is not in the table. */
  add(entry: T): void {
    if (this.#size >= this.#buckets.length && this.#size < MAX_BUCKETS) this.#grow();
    this.#put(entry);
    this.#size++;
  }

  /** Removes an entry; no effect when it is not in the table. */
  delete(entry: T): void {
    const bucket = entry.id % this.#buckets.length;
    let before: T | null = null, at = this.#buckets[bucket];
    while (at !== null && at !== entry) [before, at] = [at, at.next];
    if (at === null) return;
    if (before === null) this.#buckets[bucket] = entry.next;
    else before.next = entry.next;
    entry.next = null;
    this.#size--;
  }

  /** Every entry as of now: what changes meanwhile does not matter. */
  entries(): T[] {
    const all: T[] = [];
    for (let entry of this.#buckets) {
      for (; entry !== null; entry = entry.next) all.push(entry);
    }
    return all;
  }

  #put(entry: T): void {
    const bucket = entry.id % this.#buckets.length;
    entry.next = this.#buckets[bucket];
    this.#buckets[bucket] = entry;
  }

  #grow(): void {
    const entries = this.entries();
    this.#buckets = new Array(this.#buckets.length * 2).fill(null);
    for (const entry of entries) this.#put(entry);
  }
}
