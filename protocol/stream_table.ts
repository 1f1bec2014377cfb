/** What the table needs of a stream. */
export interface TableEntry {
  readonly id: number;
}

/** Streams that one session can have open at a time: as many as the low 16 bits of an id can tell apart. */
export const MAX_SLOTS = 0x10000;

const MAX_GENERATION = 0xffff;

/**
 * The open streams of a session, by id. The low 16 bits of an id are its slot, the high 16 bits count how often the
 * slot has been used, so that a frame for a stream that has just ended never meets the next one in its slot.
 *
 * An array and no `Map`: a map whose entries come and go builds itself anew all the time, each time pointing from the
 * old to the new, and that chain kept megabytes of finished streams alive from one garbage collection to the next.
 */
export class StreamTable<T extends TableEntry> {
  readonly #slots: (T | undefined)[] = [];
  /** Generation last used in each slot. */
  readonly #generations: number[] = [];
  /** Slots to hand out next. Only the side that opens streams keeps it: the other would only ever add to it. */
  readonly #free: number[] = [];
  #handsOut = false;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** An id for a new stream: the slot that was freed last, so that the table stays short. */
  nextId(): number {
    this.#handsOut = true;
    const slot = this.#free.pop() ?? this.#slots.length;
    const last = this.#generations[slot] ?? 0;
    const generation = last === MAX_GENERATION ? 1 : last + 1;
    return generation * MAX_SLOTS + slot;
  }

  get(id: number): T | undefined {
    const entry = this.#slots[id % MAX_SLOTS];
    return entry?.id === id ? entry : undefined;
  }

  /** Whether the slot of `id` is taken, by whatever stream. */
  isTaken(id: number): boolean {
    return this.#slots[id % MAX_SLOTS] !== undefined;
  }

  /** Whether `id` has been in use, as far as 15 bits of its count can tell. */
  wasOpen(id: number): boolean {
    const last = this.#generations[id % MAX_SLOTS], generation = Math.floor(id / MAX_SLOTS);
    return last !== undefined && generation !== 0 && ((last - generation) & MAX_GENERATION) < 0x8000;
  }

  add(entry: T): void {
    const slot = entry.id % MAX_SLOTS;
    // A peer that skips slots must not make holes: an array with holes turns into a map of its own.
    while (this.#slots.length < slot) {
      this.#generations.push(0);
      this.#slots.push(undefined);
    }
    this.#slots[slot] = entry;
    this.#generations[slot] = Math.floor(entry.id / MAX_SLOTS);
    this.#size++;
  }

  delete(entry: T): void {
    const slot = entry.id % MAX_SLOTS;
    if (this.#slots[slot] !== entry) return;
    this.#slots[slot] = undefined;
    if (this.#handsOut) this.#free.push(slot);
    this.#size--;
  }

  /** Every open stream, as they are now: what changes meanwhile does not matter. */
  entries(): T[] {
    return this.#slots.filter((entry) => entry !== undefined);
  }
}
