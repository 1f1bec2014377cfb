/** Below this many bytes a loop beats making a view. */
const SHORT = 64;

/** Copies `from[start, end)` to `to[at, ...)`. */
export function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): void {
  if (end - start < SHORT) { for (let i = start; i < end; i++) to[at++] = from[i]; }
  else to.set(from.subarray(start, end), at);
}
