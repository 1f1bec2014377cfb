import fs from "node:fs";
import process from "node:process";
import { IS_DENO, lookAt, type Looked, type LookIn, openLookIn, readNames } from "./deno.ts";

/** Whether the system tells where a descriptor leads, by a path that can be worked on. */
export const HAS_PROC: boolean = process.platform === "linux" && fs.existsSync("/proc/self/fd");

/** A folder that is held open, and the path to work on its entries with. */
interface Held {
  readonly fd: number;
  readonly path: string;
}

/** What is at a name in a folder, links not followed; null for what is gone or what the system does not show us. */
export const lookIn: (folder: Held, name: string) => Looked | null = chooseLookIn();

/** The names in a folder, in no order. */
export const listNames: (folder: Held) => string[] = IS_DENO
  ? (folder) => readNames(`${folder.path}/`)
  : (folder) => fs.readdirSync(`${folder.path}/`);

function chooseLookIn(): typeof lookIn {
  const direct: LookIn | null = IS_DENO ? openLookIn() : null;
  if (direct !== null) return ({ fd }, name) => direct(fd, name);
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
