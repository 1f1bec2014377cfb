import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Exclusive use of a folder. */
export interface FolderClaim {
  /** Ends the exclusive use. */
  release(): void;
}

/** SQLite's error code for a lock held elsewhere. */
const BUSY = 5;

/**
 * Claims a folder for one store until it is released or the process ends. The lock is on an empty database, because
 * SQLite locks files on every system: a killed process leaves no lock, and any folder that can hold a database can hold
 * this file. The main database stays unlocked, so that a backup can read it.
 * @throws Error when another store holds the folder, or the file cannot be created
 */
export function claimFolder(dataDir: string): FolderClaim {
  const path = join(dataDir, "portway.lock");
  makeFile(path);
  const file = new DatabaseSync(path);
  try {
    // A journal file would remain after a kill.
    file.prepare("pragma journal_mode = memory").get();
    file.prepare("begin exclusive").run();
    return { release: () => file.close() };
  } catch (cause) {
    file.close();
    const isTaken = cause instanceof Error && "errcode" in cause && (Number(cause.errcode) & 0xff) === BUSY;
    if (!isTaken) throw cause;
    throw new Error("another running server uses this folder: give each server its own with --data-dir", { cause });
  }
}

/**
 * Creates an empty file for its owner, unless it exists. An existing file is not even opened, because closing it again
 * would release this process's POSIX locks on it (https://sqlite.org/howtocorrupt.html, 2.2).
 * @throws Error when the file cannot be created
 */
export function makeFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
