import { Slabs } from "./slabs.ts";

/** Buffer size for an idle connection's pending read. Most heads fit. */
export const SMALL = 2 * 1024;
/** Browser heads with their cookies fit. */
export const MEDIUM = 8 * 1024;
/** Sizes for body chunks. Thousands of stalled visitors hold two each. */
const QUARTER = 16 * 1024, HALF = 32 * 1024;
/** Size for continuous bodies and unusually long heads. */
export const LARGE = 64 * 1024;
/** A large chunk with its head or framing. */
const LARGEST = LARGE + 1024;

/** Small buffers per slab. */
const PER_SLAB = 32;
/** Free small buffers to keep, whatever the use of their slabs. */
const KEPT_SMALL = 512;

/** Free buffers to keep, by size. */
const MAX_FREE: Readonly<Record<number, number>> = {
  [MEDIUM]: 64,
  [QUARTER]: 32,
  [HALF]: 32,
  [LARGE]: 32,
  [LARGEST]: 16,
};
const free = new Map(Object.keys(MAX_FREE).map((size) => [Number(size), [] as Uint8Array<ArrayBuffer>[]]));

/** Returns a buffer of at least `size` bytes: one of the fixed sizes, or an exact one above them. */
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

/** Returns a buffer to the pool. The caller must not use it afterwards. */
export function releaseBuffer(memory: Uint8Array<ArrayBuffer>): void {
  if (memory.length === SMALL) return giveSmall(memory);
  const kept = free.get(memory.length);
  if (kept !== undefined && kept.length < MAX_FREE[memory.length]) kept.push(memory);
  // The garbage collector would free large buffers too late.
  else if (memory.length >= QUARTER && memory.length === memory.buffer.byteLength) memory.buffer.transfer(0);
}

const slabs = new Slabs(SMALL, PER_SLAB);
let freeSmall: Uint8Array<ArrayBuffer>[] = [];
let trimAt = KEPT_SMALL;

function giveSmall(memory: Uint8Array<ArrayBuffer>): void {
  freeSmall.push(memory);
  if (freeSmall.length > trimAt) trimSmall();
}

/** Drops slabs without a used buffer. A single free buffer would release no memory. */
function trimSmall(): void {
  const counts = new Map<ArrayBuffer, number>();
  for (const { buffer } of freeSmall) counts.set(buffer, (counts.get(buffer) ?? 0) + 1);
  freeSmall = freeSmall.filter(({ buffer }) => counts.get(buffer) !== PER_SLAB);
  // Runs again at twice the number, so that the cost per buffer stays constant.
  trimAt = Math.max(KEPT_SMALL, 2 * freeSmall.length);
}
