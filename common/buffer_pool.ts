/** Memory that is read into and written from, used again. An idle connection's pending read holds this much: most heads fit. */
export const SMALL = 2 * 1024;
/** The heads of browsers fit, with their cookies. */
export const MEDIUM = 8 * 1024;
/** Pieces of bodies: thousands of visitors who do not read hold two of them each. */
export const QUARTER = 16 * 1024;
const HALF = 32 * 1024;
/** For bodies that keep coming, and heads that are unusually long. */
export const LARGE = 64 * 1024;
/** A large piece with its head, or what frames it. */
const LARGEST = LARGE + 1024;

/** Small pieces to a slab. */
const PER_SLAB = 32;
/** Free small pieces that are kept, whatever their slabs are used for otherwise. */
const KEPT_SMALL = 512;

/** Free buffers kept of each size. */
const MAX_FREE: Readonly<Record<number, number>> = {
  [MEDIUM]: 64,
  [QUARTER]: 32,
  [HALF]: 32,
  [LARGE]: 32,
  [LARGEST]: 16,
};
const free = new Map(Object.keys(MAX_FREE).map((size) => [Number(size), [] as Uint8Array<ArrayBuffer>[]]));

/** Memory of at least `size` bytes: one of the sizes, or just as much where they are too small. */
export function takeMemory(size: number): Uint8Array<ArrayBuffer> {
  if (size <= SMALL) return freeSmall.pop() ?? slabs.cut();
  const bytes = fit(size);
  return free.get(bytes)?.pop() ?? new Uint8Array(bytes);
}

/**
 * Memory of {@link SMALL} or {@link QUARTER} bytes that is not given back: the garbage collector frees it, together with
 * what lies beside it.
 */
export function cutMemory(size: typeof SMALL | typeof QUARTER): Uint8Array<ArrayBuffer> {
  return (size === SMALL ? lastingSmall : lastingQuarters).cut();
}

function fit(size: number): number {
  if (size <= MEDIUM) return MEDIUM;
  if (size <= HALF) return size <= QUARTER ? QUARTER : HALF;
  return size <= LARGE ? LARGE : Math.max(size, LARGEST);
}

/** Gives memory back that nobody reads or writes any more. */
export function giveMemory(memory: Uint8Array<ArrayBuffer>): void {
  if (memory.length === SMALL) return giveSmall(memory);
  const kept = free.get(memory.length);
  if (kept !== undefined && kept.length < MAX_FREE[memory.length]) kept.push(memory);
  // Left to the garbage collector, much of it piles up before it looks.
  else if (memory.length >= QUARTER && memory.length === memory.buffer.byteLength) memory.buffer.transfer(0);
}

/**
 * Memory that is cut from slabs: what the runtime keeps of each piece of memory, and looks up in every read and write, is
 * then the same for many connections, and in the processor's cache.
 */
class Slabs {
  readonly #size: number;
  readonly #pieces: number;
  #slab: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #cut: number;

  constructor(size: number, pieces: number) {
    this.#size = size;
    this.#pieces = this.#cut = pieces;
  }

  cut(): Uint8Array<ArrayBuffer> {
    const stride = this.#size + CACHE_LINE;
    if (this.#cut === this.#pieces) {
      this.#slab = new Uint8Array(this.#pieces * stride);
      this.#cut = 0;
    }
    const at = stride * this.#cut++;
    return this.#slab.subarray(at, at + this.#size);
  }
}

/** Between pieces: the beginnings of all would share a few places of the cache. */
const CACHE_LINE = 64;

/** Of small pieces that are given back, and of others: one that is not would keep the slab of all those beside it. */
const slabs = new Slabs(SMALL, PER_SLAB), lastingSmall = new Slabs(SMALL, PER_SLAB);
const lastingQuarters = new Slabs(QUARTER, PER_SLAB / 2);
let freeSmall: Uint8Array<ArrayBuffer>[] = [];
let trimAt = KEPT_SMALL;

function giveSmall(memory: Uint8Array<ArrayBuffer>): void {
  freeSmall.push(memory);
  if (freeSmall.length > trimAt) trimSmall();
}

/** Lets go of slabs of which no piece is in use: a single piece would free nothing. */
function trimSmall(): void {
  const counts = new Map<ArrayBuffer, number>();
  for (const { buffer } of freeSmall) counts.set(buffer, (counts.get(buffer) ?? 0) + 1);
  freeSmall = freeSmall.filter(({ buffer }) => counts.get(buffer) !== PER_SLAB);
  // Not again before there are twice as many, so that many cost as little each as few.
  trimAt = Math.max(KEPT_SMALL, 2 * freeSmall.length);
}
