import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { retryWhileHeld, syncFolderAt } from "../../../common/platform/mod.ts";

/** The result of {@link backUp}. */
export interface Backup {
  /** The copied database. */
  source: string;
  /** The copy's size in bytes. */
  bytes: number;
}

/**
 * Copies the embedded database as a consistent snapshot while servers keep reading and writing. On return the copy is
 * on the disk, readable only by its owner. A failure leaves no files.
 * @param dataDir the database folder
 * @param copyPath a file that does not exist yet
 * @throws Error with a line for the operator
 */
export function backUp(dataDir: string, copyPath: string): Backup {
  const source = join(dataDir, "portway.db");
  if (!existsSync(source)) throw new Error(`the database ${source} does not exist`);
  makeEmpty(copyPath);
  const part = `${copyPath}.part`;
  try {
    // The file exists before SQLite writes to it, so other users cannot read it meanwhile.
    makeEmpty(part);
    copy(source, part);
    syncFile(part);
    retryWhileHeld(() => renameSync(part, copyPath));
    // The directory entry survives a crash of the machine.
    syncFolderAt(dirname(copyPath));
    return { source, bytes: statSync(copyPath).size };
  } catch (cause) {
    for (const path of [part, copyPath]) retryWhileHeld(() => rmSync(path, { force: true }));
    throw cannotCopy(copyPath, cause);
  }
}

/** Creates an empty file, which must not exist yet. */
function makeEmpty(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    const isThere = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    throw isThere ? new Error(`${path} already exists`, { cause }) : cannotCopy(path, cause);
  }
}

const cannotCopy = (path: string, cause: unknown): Error =>
  new Error(`cannot write ${path}: ${cause instanceof Error ? cause.message : cause}`, { cause });

/** Copies with SQLite's own snapshot. */
function copy(source: string, copyPath: string): void {
  const database = new DatabaseSync(source, { readOnly: true });
  try {
    database.exec("pragma busy_timeout = 5000");
    database.prepare("vacuum into ?").run(copyPath);
  } finally {
    database.close();
  }
}

function syncFile(path: string): void {
  // Windows requires write access for this.
  const descriptor = openSync(path, "r+");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
