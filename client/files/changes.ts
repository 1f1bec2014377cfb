import fs from "node:fs";
import { HttpError } from "../../common/http_error.ts";
import type { Representation } from "./conditions.ts";
import { createEntityTag } from "./entity_tag.ts";
import { getErrorCode, notFound } from "./fs_error.ts";
import type { Entry, Folder, Root } from "./root.ts";
import type { Scratch } from "./scratch.ts";
import { sync } from "./sync.ts";
import { checkWritableNames, openOrMakeFolder } from "./write_target.ts";

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
  await withEntry(root, subject, async (parent, name) => {
    const path = `${parent.path}/${name}`;
    const aside = takeAside(parent, name, scratch) ?? path;
    await sync(parent.fd);
    try {
      await fs.promises.rm(aside, { recursive: true, force: true });
    } catch (error) {
      putBack(aside, path);
      throw error;
    }
  });
}

/** Something that is out of sight: where it is, and what it is. */
export interface MovedAside {
  path: string;
  kind: "file" | "folder";
  /** Bytes; 0 for a folder. */
  size: number;
}

/**
 * Moves an entry out of sight, to be put back or removed. Throws 404, as the check, or 409 `no_trash` when it can only
 * be removed where it is.
 */
export async function moveAside(root: Root, scratch: Scratch, subject: Subject): Promise<MovedAside> {
  return await withEntry(root, subject, async (parent, name, { kind, size }) => {
    const path = takeAside(parent, name, scratch);
    if (path === null) throw new HttpError(409, "no_trash", "This can only be deleted for good.");
    await sync(parent.fd);
    return { path, kind, size: kind === "file" ? size : 0 };
  });
}

async function withEntry<T>(
  root: Root,
  subject: Subject,
  work: (parent: Folder, name: string, entry: Entry) => Promise<T>,
): Promise<T> {
  checkWritableNames(root, subject.segments);
  const parent = openParent(root, subject.segments);
  try {
    return await work(parent, getLast(subject.segments), checkEntry(root, parent, subject));
  } finally {
    parent.close();
  }
}

/** Why nothing can be moved aside: a mount below the share is another disk, and a full disk takes no new folder. */
const NO_ASIDE = ["EXDEV", "ENOSPC", "EDQUOT"];

/** Moves an entry out of sight and returns where it is then; null when it has to be removed where it is. */
function takeAside(parent: Folder, name: string, scratch: Scratch): string | null {
  try {
    const aside = scratch.reserve(parent.segments);
    fs.renameSync(`${parent.path}/${name}`, aside);
    return aside;
  } catch (error) {
    if (NO_ASIDE.includes(getErrorCode(error))) return null;
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
