import fs from "node:fs";
import { HttpError } from "../../common/http_error.ts";
import { getErrorCode, notFound } from "./fs_error.ts";
import type { Folder, Root } from "./root.ts";
import type { Scratch } from "./scratch.ts";
import { sync } from "./sync.ts";
import { checkWritableNames, openOrMakeFolder } from "./write_target.ts";

/** Makes a folder and the missing ones above it. Throws 409 when something of that name is there. */
export async function makeFolder(root: Root, segments: readonly string[]): Promise<void> {
  checkWritableNames(root, segments);
  const parent = openOrMakeFolder(root, segments.slice(0, -1));
  try {
    fs.mkdirSync(`${parent.path}/${getLast(segments)}`);
    await sync(parent.fd);
  } finally {
    parent.close();
  }
}

export interface MoveOptions {
  from: readonly string[];
  to: readonly string[];
  /** Replace a file that is there. A folder is never replaced. */
  overwrite: boolean;
}

/**
 * Renames or moves a file or folder; a link moves as a link.
 * Returns whether something was replaced. Throws 404, or 409 when something is in the way.
 */
export async function moveEntry(root: Root, options: MoveOptions): Promise<boolean> {
  checkWritableNames(root, options.from);
  checkWritableNames(root, options.to);
  if (options.to.length > options.from.length && options.from.every((name, depth) => name === options.to[depth])) {
    throw new HttpError(409, "not_possible", "A folder cannot be moved into itself.");
  }
  const source = openParent(root, options.from);
  try {
    checkEntry(root, source, getLast(options.from));
    const target = openOrMakeFolder(root, options.to.slice(0, -1));
    try {
      return await moveBetween(root, source, target, options);
    } finally {
      target.close();
    }
  } finally {
    source.close();
  }
}

async function moveBetween(root: Root, source: Folder, target: Folder, options: MoveOptions): Promise<boolean> {
  const oldPath = `${source.path}/${getLast(options.from)}`;
  const newPath = `${target.path}/${getLast(options.to)}`;
  const [old, there] = [fs.lstatSync(oldPath), fs.lstatSync(newPath, { throwIfNoEntry: false })];
  if (there !== undefined && !isSameFile(old, there)) {
    const isReplaceable = options.overwrite && there.isFile() && old.isFile();
    if (!isReplaceable || !root.isVisible(getLast(options.to), target.segments)) {
      throw new HttpError(409, "already_exists", "Something of that name is already there.");
    }
  }
  fs.renameSync(oldPath, newPath);
  await sync(target.fd);
  if (target.segments.join("/") !== source.segments.join("/")) await sync(source.fd);
  return there !== undefined && !isSameFile(old, there);
}

/** A name that differs in case only is the same file where the file system does not tell cases apart. */
function isSameFile(a: fs.Stats, b: fs.Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev && (a.isDirectory() || a.nlink === 1);
}

/**
 * Removes a file, a link or a folder with all that is in it. It is moved out of sight first, so that nobody sees
 * half of a folder that is being removed.
 */
export async function removeEntry(root: Root, scratch: Scratch, segments: readonly string[]): Promise<void> {
  checkWritableNames(root, segments);
  const parent = openParent(root, segments);
  try {
    const name = getLast(segments);
    checkEntry(root, parent, name);
    const path = `${parent.path}/${name}`;
    const aside = moveAside(parent, name, scratch);
    await sync(parent.fd);
    try {
      await fs.promises.rm(aside, { recursive: true, force: true });
    } catch (error) {
      putBack(aside, path);
      throw error;
    }
  } finally {
    parent.close();
  }
}

/** Why nothing can be moved aside: a mount below the share is another disk, and a full disk takes no new folder. */
const NO_ASIDE = ["EXDEV", "ENOSPC", "EDQUOT"];

/** Moves an entry out of sight and returns where it is then: where it was when it has to be removed there. */
function moveAside(parent: Folder, name: string, scratch: Scratch): string {
  const path = `${parent.path}/${name}`;
  try {
    const aside = scratch.reserve(parent.segments);
    fs.renameSync(path, aside);
    return aside;
  } catch (error) {
    if (NO_ASIDE.includes(getErrorCode(error))) return path;
    throw error;
  }
}

/** What could not be removed must not stay out of sight, where nobody looks for it. */
function putBack(aside: string, path: string): void {
  const isFree = aside !== path && fs.lstatSync(path, { throwIfNoEntry: false }) === undefined;
  if (isFree) fs.renameSync(aside, path);
}

/** The folder that holds the last of `segments`. Throws 404 when it is missing, hidden or outside. */
function openParent(root: Root, segments: readonly string[]): Folder {
  return root.openFolder(segments.slice(0, -1));
}

/** Throws 404 unless a visitor can see the entry: a link that leads outside cannot even be removed. */
function checkEntry(root: Root, folder: Folder, name: string): void {
  if (!root.isVisible(name, folder.segments) || root.statEntry(folder, name) === null) throw notFound();
}

function getLast(segments: readonly string[]): string {
  return segments[segments.length - 1];
}
