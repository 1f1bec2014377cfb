/** Memory that is read into and written from, used again. An idle connection's pending read holds this much: most heads fit. */
export const SMALL = 2 * 1024;
/** The heads of browsers fit, with their cookies. */
export const MEDIUM = 8 * 1024;
/** Pieces of bodies: thousands of visitors who do not read hold two of them each. */
const QUARTER = 16 * 1024, HALF = 32 * 1024;
/** For bodies that keep coming, and heads that are unusually long. */
export const LARGE = 64 * 1024;
/** A large piece with its head, or what frames it. */
const LARGEST = LARGE + 1024;

/** 32 small ones. */
const SLAB = 32 * SMALL;

/** Free buffers kept of each size. */
const MAX_FREE: Readonly<Record<number, number>> = {
  [SMALL]: 512,
  [MEDIUM]: 64,
  [QUARTER]: 32,
  [HALF]: 32,
  [LARGE]: 32,
  [LARGEST]: 16,
};
const free = new Map(Object.keys(MAX_FREE).map((size) => [Number(size), [] as Uint8Array<ArrayBuffer>[]]));

/** Memory of at least `size` bytes: one of the sizes, or just as much where they are too small. */
export function takeMemory(size: number): Uint8Array<ArrayBuffer> {
  const bytes = fit(size);
  return free.get(bytes)?.pop() ?? (bytes === SMALL ? cutSmall() : new Uint8Array(bytes));
}

/** What is left of a slab of small memory. */
let rest = new Uint8Array(0);

/**
 * Small memory is cut from large: what the runtime keeps of each piece of memory, and looks up in every read and write,
 * is then the same for many connections, and in the processor's cache.
 */
function cutSmall(): Uint8Array<ArrayBuffer> {
  if (rest.length < SMALL) rest = new Uint8Array(SLAB);
  const memory = rest.subarray(0, SMALL);
  rest = rest.subarray(SMALL);
  return memory;
}

function fit(size: number): number {
  if (size <= MEDIUM) return size <= SMALL ? SMALL : MEDIUM;
  if (size <= HALF) return size <= QUARTER ? QUARTER : HALF;
  return size <= LARGE ? LARGE : Math.max(size, LARGEST);
}

/** Gives memory back that nobody reads or writes any more. */
export function giveMemory(memory: Uint8Array<ArrayBuffer>): void {
  const kept = free.get(memory.length);
  if (kept !== undefined && kept.length < MAX_FREE[memory.length]) kept.push(memory);
  // Left to the garbage collector, much of it piles up before it looks.
  else if (memory.length >= QUARTER && memory.length === memory.buffer.byteLength) memory.buffer.transfer(0);
}
