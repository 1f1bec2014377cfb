import { setFlagsFromString } from "node:v8";

/** docs/explanation/performance.md explains each flag. */
export const V8_FLAGS: readonly string[] = [
  "--no-allocation-site-pretenuring",
  "--max-inlined-bytecode-size=1000",
  "--max-inlined-bytecode-size-cumulative=2500",
];

/**
 * Tunes V8 for many small requests, in the whole process. Only programs may do this, not libraries. Heap sizes can be
 * set only at process start.
 */
export function tuneV8(): void {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
}
