import fs from "node:fs";
import { HttpError } from "../../../common/http_error.ts";
import { foldName, retryLaterWhileHeld, syncFolder } from "../../../common/platform/mod.ts";
import { createEntityTag, type Representation } from "../../../net/file_http/mod.ts";
import { getErrorCode, noSuchEntry, RemovedInPart } from "../disk/fs_error.ts";
import { removeAside } from "../disk/remove_aside.ts";
import type { Entry, Folder, Root } from "../disk/root.ts";
import { isSameEntry } from "../disk/same_entry.ts";
import type { Scratch } from "../upload/scratch.ts";
import { checkWritableNames, openOrMakeFolder, openTargetFolder } from "../disk/write_target.ts";
import { copyTree } from "./copy_tree.ts";

/** What is to be changed. */
export interface Subject {
  readonly segments: readonly string[];
  /** Whether its address ended in a slash, so that it must be a folder. */
  readonly isFolder: boolean;
  /** Told what is there, right before the change. Throws when that is not what the change was asked for. */
  check(current: Representation): void;
}

/**
 * Makes a folder, and with `makeParents` the missing ones above it.
 * @throws HttpError 409 when something of that name is there, or the folder that it is to be in is not
 */
export async function makeFolder(root: Root, segments: readonly string[], makeParents: boolean): Promise<void> {
  checkWritableNames(root, segments);
  const parent = openDestination(root, segments.slice(0, -1), makeParents);
  try {
    fs.mkdirSync(`${parent.path}/${getLast(segments)}`);
    await syncFolder(parent.fd);
  } finally {
    parent.close();
  }
}

function openDestination(root: Root, segments: readonly string[], makeParents: boolean): Folder {
  return makeParents ? openOrMakeFolder(root, segments) : openTargetFolder(root, segments);
}

/** Where something is to go. */
export interface Destination {
  to: readonly string[];
  /** Whether the new address ends in a slash, so that only a folder can get it. */
  isToFolder: boolean;
  /**
   * What may be replaced that is there: nothing, a file by a file, or as WebDAV has it (RFC 4918, section 9.8.4)
   * anything by anything.
   */
  replace: "nothing" | "file" | "anything";
  /** Make the folders on the way that are missing. */
  makeParents: boolean;
}

/**
 * Renames or moves a file or folder; a link moves as a link.
 * @returns whether something was replaced
 * @throws HttpError 404, 409 when something is in the way, or as the check
 */
export async function moveEntry(
  root: Root,
  scratch: Scratch,
  subject: Subject,
  destination: Destination,
): Promise<boolean> {
  const from = subject.segments;
  checkWritableNames(root, from);
  checkApart(root, from, destination);
  const source = openParent(root, from);
  try {
    checkKind(checkEntry(root, source, subject), destination);
    const place = openDestination(root, destination.to.slice(0, -1), destination.makeParents);
    try {
      const isSameFolder = place.segments.join("/") === source.segments.join("/");
      const old = { path: `${source.path}/${getLast(from)}`, name: isSameFolder ? getLast(from) : null };
      const isReplaced = await putInPlace(root, scratch, old, place, destination);
      if (!isSameFolder) await syncFolder(source.fd);
      return isReplaced;
    } finally {
      place.close();
    }
  } finally {
    source.close();
  }
}

/** Where a copy goes, and how much of a folder. `signal` gives it up and removes what was copied. */
export interface CopyOptions extends Destination {
  /** Copy what is in a folder too. */
  isDeep: boolean;
  signal: AbortSignal;
}

/**
 * Copies a file or a folder; what links lead to is copied in their place. It is made out of sight and appears whole.
 * @returns whether something was replaced
 * @throws HttpError 404, 409 when something is in the way, 507, or as the check
 */
export async function copyEntry(
  root: Root,
  scratch: Scratch,
  subject: Subject,
  options: CopyOptions,
): Promise<boolean> {
  checkApart(root, subject.segments, options);
  const parent = openParent(root, subject.segments);
  try {
    checkKind(checkEntry(root, parent, subject), options);
  } finally {
    parent.close();
  }
  const place = openDestination(root, options.to.slice(0, -1), options.makeParents);
  try {
    const copy = scratch.reserve(place.segments);
    try {
      await copyTree(root, subject.segments, copy, options);
      const made = { path: copy, name: null }, { platform } = root;
      return await retryLaterWhileHeld(() => putInPlace(root, scratch, made, place, options), { platform });
    } finally {
      await removeAside(root, copy);
    }
  } finally {
    place.close();
  }
}

/** Throws 409 when one of the two places lies in the other, so that nothing whole would be left. */
function checkApart(root: Root, from: readonly string[], { to, replace }: Destination): void {
  checkWritableNames(root, to);
  const depth = Math.min(from.length, to.length);
  const isNested = from.length !== to.length &&
    from.slice(0, depth).every((name, index) => foldName(name) === foldName(to[index]));
  if (isNested && to.length > from.length) {
    throw new HttpError(409, "not_possible", "A folder cannot be moved into itself.");
  }
  if (isNested) throw new HttpError(409, "already_exists", "What is to be moved lies in what it would replace.");
  if (replace === "anything" && from.join("/") === to.join("/")) {
    throw new HttpError(403, "same_place", "This is where it is already.");
  }
}

function checkKind({ kind }: Entry, { isToFolder }: Destination): void {
  if (kind === "file" && isToFolder) {
    throw new HttpError(400, "bad_path", "A file's address does not end in a slash.");
  }
}

/** What gets a new name: where it is, and what it is called in the folder that it stays in; null from elsewhere. */
interface Renamed {
  readonly path: string;
  readonly name: string | null;
}

/** Gives something its new name. Returns whether something was replaced. */
async function putInPlace(
  root: Root,
  scratch: Scratch,
  { path: oldPath, name: oldName }: Renamed,
  place: Folder,
  { to, replace }: Destination,
): Promise<boolean> {
  const name = getLast(to);
  const newPath = `${place.path}/${name}`;
  const [old, there] = [fs.lstatSync(oldPath), fs.lstatSync(newPath, { throwIfNoEntry: false })];
  const isSame = there !== undefined && oldName !== null &&
    isSameEntry({ name: oldName, stat: old }, { name, stat: there });
  const other = isSame ? null : there ?? null;
  const isFileByFile = other !== null && other.isFile() && old.isFile();
  if (other !== null) {
    const isReplaceable = replace === "anything" || (replace === "file" && isFileByFile);
    // A link that leads outside is not there for a visitor, and stays.
    const isSeen = root.isVisible(name, place.segments) && root.isSeenBy(place, name) &&
      root.statEntry(place, name) !== null;
    if (!isReplaceable || !isSeen) {
      throw new HttpError(409, "already_exists", "Something of that name is already there.");
    }
  }
  if (other === null || isFileByFile) fs.renameSync(oldPath, newPath);
  else await exchange(root, scratch, oldPath, newPath, place);
  await syncFolder(place.fd);
  return other !== null;
}

/** Renames over what no rename replaces: that goes out of sight first, and back when it turns out to be in vain. */
async function exchange(
  root: Root,
  scratch: Scratch,
  oldPath: string,
  newPath: string,
  place: Folder,
): Promise<void> {
  const aside = takeAside(place, newPath.slice(newPath.lastIndexOf("/") + 1), scratch);
  if (aside === null) await fs.promises.rm(newPath, { recursive: true });
  try {
    fs.renameSync(oldPath, newPath);
  } catch (error) {
    if (aside !== null) await putBack(root, aside, newPath);
    throw error;
  }
  if (aside !== null) await removeAside(root, aside);
}

/**
 * Removes a file, a link or a folder with all that is in it. It is moved out of sight first, so that nobody sees
 * half of a folder that is being removed. Throws 404, or as the check.
 */
export async function removeEntry(root: Root, scratch: Scratch, subject: Subject): Promise<void> {
  await withEntry(root, subject, async (parent, name, { kind }) => {
    const path = `${parent.path}/${name}`;
    const aside = takeAside(parent, name, scratch) ?? path;
    await syncFolder(parent.fd);
    try {
      await fs.promises.rm(aside, { recursive: true, force: true });
    } catch (error) {
      await putBack(root, aside, path);
      throw kind === "folder" && getErrorCode(error) !== "" ? new RemovedInPart(error) : error;
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
    await syncFolder(parent.fd);
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
async function putBack({ platform }: Root, aside: string, path: string): Promise<void> {
  await retryLaterWhileHeld(() => {
    const isFree = aside !== path && fs.lstatSync(path, { throwIfNoEntry: false }) === undefined;
    if (isFree) fs.renameSync(aside, path);
    return Promise.resolve();
  }, { platform });
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
  const isSeen = root.isVisible(name, folder.segments) && root.isSeenBy(folder, name);
  const entry = isSeen ? root.statEntry(folder, name) : null;
  if (entry === null || (isFolder && entry.kind !== "folder")) throw noSuchEntry();
  const stat = fs.statSync(`${folder.path}/${name}`);
  check({ tag: createEntityTag(stat), modified: stat.mtimeMs });
  return entry;
}

function getLast(segments: readonly string[]): string {
  return segments[segments.length - 1];
}
