import { Slabs } from "./slabs.ts";

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
export function acquireBuffer(size: number): Uint8Array<ArrayBuffer> {
  if (size <= SMALL) return freeSmall.pop() ?? slabs.cut();
  const bytes = fit(size);
  return free.get(bytes)?.pop() ?? new Uint8Array(bytes);
}

function fit(size: number): number {
  if (size <= MEDIUM) return MEDIUM;
  if (size <= HALF) return size <= QUARTER ? QUARTER : HALF;
  return size <= LARGE ? LARGE : Math.max(size, LARGEST);
}

/** Gives memory back that nobody reads or writes any more. */
export function releaseBuffer(memory: Uint8Array<ArrayBuffer>): void {
  if (memory.length === SMALL) return giveSmall(memory);
  const kept = free.get(memory.length);
  if (kept !== undefined && kept.length < MAX_FREE[memory.length]) kept.push(memory);
  // Left to the garbage collector, much of it piles up before it looks.
  else if (memory.length >= QUARTER && memory.length === memory.buffer.byteLength) memory.buffer.transfer(0);
}

const slabs = new Slabs(SMALL, PER_SLAB);
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
