import fs from "node:fs";
import { HttpError } from "../../../common/http_error.ts";
import type { Representation } from "../../../common/file_http/mod.ts";
import { createEntityTag } from "../../../common/file_http/mod.ts";
import { getErrorCode, notFound } from "../disk/fs_error.ts";
import type { Entry, Folder, Root } from "../disk/root.ts";
import type { Scratch } from "../upload/scratch.ts";
import { sync } from "../disk/sync.ts";
import { checkWritableNames, openOrMakeFolder } from "../disk/write_target.ts";

/** What is to be changed. */
export interface Subject {
  readonly segments: readonly string[];
  /** Whether its address ended in a slash, so that it must be a folder. */
  readonly isFolder: boolean;
  /** Told what is there, right before the change. Throws when that is not what the change was asked for. */
  check(current: Representation): void;
}

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
  from: Subject;
  to: readonly string[];
  /** Whether the new address ends in a slash, so that only a folder can get it. */
  isToFolder: boolean;
  /** Replace a file that is there. A folder is never replaced. */
  overwrite: boolean;
}

/**
 * Renames or moves a file or folder; a link moves as a link.
 * Returns whether something was replaced. Throws 404, 409 when something is in the way, or as the check.
 */
export async function moveEntry(root: Root, options: MoveOptions): Promise<boolean> {
  const from = options.from.segments;
  checkWritableNames(root, from);
  checkWritableNames(root, options.to);
  if (options.to.length > from.length && from.every((name, depth) => name === options.to[depth])) {
    throw new HttpError(409, "not_possible", "A folder cannot be moved into itself.");
  }
  const source = openParent(root, from);
  try {
    const { kind } = checkEntry(root, source, options.from);
    if (kind === "file" && options.isToFolder) {
      throw new HttpError(400, "bad_path", "A file's address does not end in a slash.");
    }
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
  const oldPath = `${source.path}/${getLast(options.from.segments)}`;
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
 * half of a folder that is being removed. Throws 404, or as the check.
 */
export async function removeEntry(root: Root, scratch: Scratch, subject: Subject): Promise<void> {
  checkWritableNames(root, subject.segments);
  const parent = openParent(root, subject.segments);
  try {
    const name = getLast(subject.segments);
    checkEntry(root, parent, subject);
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

/**
 * Throws 404 unless a visitor can see the entry, as a folder when it is asked for as one, and then checks it: a link
 * that leads outside cannot even be removed.
 */
function checkEntry(root: Root, folder: Folder, { segments, isFolder, check }: Subject): Entry {
  const name = getLast(segments);
  const entry = root.isVisible(name, folder.segments) ? root.statEntry(folder, name) : null;
  if (entry === null || (isFolder && entry.kind !== "folder")) throw notFound();
  const stat = fs.statSync(`${folder.path}/${name}`);
  check({ tag: createEntityTag(stat), modified: stat.mtimeMs });
  return entry;
}

function getLast(segments: readonly string[]): string {
  return segments[segments.length - 1];
}
