import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** A folder that is nobody else's. */
export interface FolderClaim {
  /** Lets others have it. */
  release(): void;
}

/** SQLite's code for a lock that somebody else has. */
const BUSY = 5;

/**
 * Takes a folder for one store alone, until it is released or the process ends. What is locked is an empty database, as
 * SQLite locks files on every system: so a process that was killed leaves nothing locked, and where the folder can have
 * a database at all, it can have this. The database itself cannot be locked so, since others read it meanwhile to copy it.
 * @throws Error when it is another's, or the file cannot be made
 */
export function claimFolder(dataDir: string): FolderClaim {
  const path = join(dataDir, "portway.lock");
  makeFile(path);
  const file = new DatabaseSync(path);
  try {
    // A journal would be a file that who is killed leaves behind.
    file.prepare("pragma journal_mode = memory").get();
    file.prepare("begin exclusive").run();
    return { release: () => file.close() };
  } catch (cause) {
    file.close();
    const isTaken = cause instanceof Error && "errcode" in cause && (Number(cause.errcode) & 0xff) === BUSY;
    if (!isTaken) throw cause;
    throw new Error("another server that runs has this folder: give each one of its own with --data-dir", { cause });
  }
}

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
