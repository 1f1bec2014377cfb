import fs from "node:fs";
import { IS_DENO } from "../../../common/file_http/mod.ts";
import { lookAt, type Looked, openFolderCalls, readNames } from "./deno.ts";

/** A folder that is held open, and the path to work on its entries with. */
interface Held {
  readonly fd: number;
  readonly path: string;
}

const calls = IS_DENO ? openFolderCalls() : null;

/** What is at a name in a folder, links not followed; null for what is gone or what the system does not show us. */
export const lookIn: (folder: Held, name: string) => Looked | null = chooseLookIn();

/**
 * Reads the beginning of a file in a folder, as much as `into` takes, and returns how many bytes came. Null when it is
 * a link, when it cannot be read, and where there is no quick way to do this.
 */
export function readIn({ fd }: Held, name: string, into: Uint8Array<ArrayBuffer>): number | null {
  return calls === null ? null : calls.read(fd, name, into);
}

/** The names in a folder, in no order. */
export const listNames: (folder: Held) => string[] = IS_DENO
  ? (folder) => readNames(`${folder.path}/`)
  : (folder) => fs.readdirSync(`${folder.path}/`);

function chooseLookIn(): typeof lookIn {
  if (calls !== null) return ({ fd }, name) => calls.look(fd, name);
  const look = IS_DENO ? lookAt : lookAtNode;
  return ({ path }, name) => look(`${path}/${name}`);
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
