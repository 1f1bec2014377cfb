import fs from "node:fs";
import { IS_DENO } from "../../../net/file_http/mod.ts";
import { type FolderCalls, lookAt, type Looked, openFolderCalls, readNames } from "./deno.ts";

/** An open folder with the path for work on its entries. */
interface Held {
  readonly fd: number;
  readonly path: string;
}

/** Access to the entries in an open folder. */
export interface EntryLook {
  /** Returns the metadata of an entry without following links; null when it is missing or unreadable. */
  lookIn(folder: Held, name: string): Looked | null;
  /**
   * Fills `into` from the beginning of a file in a folder and returns the number of bytes read. Returns null for a
   * link, an unreadable file, or a system without a fast call.
   */
  readIn(folder: Held, name: string, into: Uint8Array<ArrayBuffer>): number | null;
  /** Returns the unsorted names in a folder. */
  listNames(folder: Held): string[];
}

/** The implementation for every runtime and system. */
export const portableLook: EntryLook = createLook(null);

/** The fastest implementation for this runtime and system. */
export const systemLook: EntryLook = createLook(IS_DENO ? openFolderCalls() : null);

function createLook(calls: FolderCalls | null): EntryLook {
  const look = IS_DENO ? lookAt : lookAtNode;
  return {
    lookIn: ({ fd, path }, name) => calls === null ? look(`${path}/${name}`) : calls.look(fd, name),
    readIn: ({ fd }, name, into) => calls === null ? null : calls.read(fd, name, into),
    listNames: ({ path }) => IS_DENO ? readNames(`${path}/`) : fs.readdirSync(`${path}/`),
  };
}

function lookAtNode(path: string): Looked | null {
  const stat = lstatIfPermitted(path);
  if (stat === undefined) return null;
  return {
    isFile: stat.isFile(),
    isDirectory: stat.isDirectory(),
    isSymlink: stat.isSymbolicLink(),
    size: stat.size,
    modified: Math.trunc(stat.mtimeMs),
  };
}

function lstatIfPermitted(path: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // Visitors get the same response for unreadable and missing entries.
    return undefined;
  }
}
