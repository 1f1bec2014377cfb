import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { retryWhileHeld, syncFolderAt } from "../../../common/platform/mod.ts";

/** What {@link backUp} did. */
export interface Backup {
  /** The database that was copied. */
  source: string;
  /** Size of the copy, in bytes. */
  bytes: number;
}

/**
 * Copies the embedded database as it is at one moment, while servers go on reading and writing. The copy is on disk, and
 * readable by its owner alone, when this returns; nothing is left of one that fails.
 * @param dataDir folder of the database
 * @param copyPath a file that is not there yet
 * @throws Error with a line for the operator
 */
export function backUp(dataDir: string, copyPath: string): Backup {
  const source = join(dataDir, "portway.db");
  if (!existsSync(source)) throw new Error(`there is no database ${source}`);
  makeEmpty(copyPath);
  const part = `${copyPath}.part`;
  try {
    // Made before SQLite writes to it, so that nobody else can read it meanwhile.
    makeEmpty(part);
    copy(source, part);
    syncFile(part);
    retryWhileHeld(() => renameSync(part, copyPath));
    // So that its entry is there after a crash of the machine.
    syncFolderAt(dirname(copyPath));
    return { source, bytes: statSync(copyPath).size };
  } catch (cause) {
    for (const path of [part, copyPath]) retryWhileHeld(() => rmSync(path, { force: true }));
    throw cannotCopy(copyPath, cause);
  }
}

/** Takes a name that nobody has yet. */
function makeEmpty(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    const isThere = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    throw isThere ? new Error(`${path} is there already, and is left as it is`, { cause }) : cannotCopy(path, cause);
  }
}

const cannotCopy = (path: string, cause: unknown): Error =>
  new Error(`cannot write ${path}: ${cause instanceof Error ? cause.message : cause}`, { cause });

/** SQLite's own way: a snapshot without gaps. */
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
  // For writing, or Windows refuses.
  const descriptor = openSync(path, "r+");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
