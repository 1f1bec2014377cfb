import { closeSync, openSync } from "node:fs";

/**
 * Makes an empty file for its owner alone, unless it is there. One that is there is not even opened: to close it again
 * would let go of the locks that this process has on it, as POSIX has it (https://sqlite.org/howtocorrupt.html, 2.2).
 * @throws Error when it cannot be made
 */
export function makeFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
