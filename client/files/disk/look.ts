import fs from "node:fs";
import { IS_DENO } from "../../../net/file_http/mod.ts";
import { type FolderCalls, lookAt, type Looked, openFolderCalls, readNames } from "./deno.ts";

/** A folder that is held open, and the path to work on its entries with. */
interface Held {
  readonly fd: number;
  readonly path: string;
}

/** The ways to what is in a folder that is held open. */
export interface EntryLook {
  /** What is at a name in a folder, links not followed; null for what is gone or what the system does not show us. */
  lookIn(folder: Held, name: string): Looked | null;
  /**
   * Reads the beginning of a file in a folder, as much as `into` takes, and returns how many bytes came. Null when it
   * is a link, when it cannot be read, and where there is no quick way to do this.
   */
  readIn(folder: Held, name: string, into: Uint8Array<ArrayBuffer>): number | null;
  /** The names in a folder, in no order. */
  listNames(folder: Held): string[];
}

/** What every runtime and system has. */
export const portableLook: EntryLook = createLook(null);

/** The quickest that this runtime and system have. */
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
    // What the system does not let us look at is not there for a visitor.
    return undefined;
  }
}
