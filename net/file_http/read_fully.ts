import fs from "node:fs";

/** Fills `into` with a file from `position` on. Returns how many bytes there were. */
export function readFully(fd: number, into: Uint8Array, position: number): number {
  let filled = 0;
  while (filled < into.length) {
    const count = fs.readSync(fd, into, filled, into.length - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}
