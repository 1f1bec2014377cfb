import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { HttpError } from "../../../common/http_error.ts";
import { createEntityTag, type Representation } from "../../../net/file_http/mod.ts";
import { getErrorCode } from "./fs_error.ts";
import type { Folder, Root } from "./root.ts";

/** The destination of a write. */
export interface WriteTarget {
  /** The target folder with links resolved, which may not exist yet, and the name in it. */
  parent: readonly string[];
  name: string;
  /** The existing file, or null. */
  current: (Representation & { mode: number }) | null;
}

/**
 * Finds the destination for a write to `segments`. A link to a file inside the share is written through.
 * @throws HttpError 403 for a hidden name or a link that leads outside, 409 when the existing entry is no file
 */
export function findWriteTarget(root: Root, segments: readonly string[]): WriteTarget {
  checkWritableNames(root, segments);
  const name = segments[segments.length - 1];
  const asked = segments.slice(0, -1);
  const folder = openIfThere(root, asked);
  if (folder === null) return { parent: asked, name, current: null };
  try {
    return findInFolder(root, folder, name);
  } finally {
    folder.close();
  }
}

/** Numbered names to try before a random name. */
const MAX_NUMBERED = 20;

/**
 * Finds a free name for a file with the requested path `segments`: the last segment, or else the same name with a
 * number.
 * @throws HttpError 403 for a hidden name
 */
export function findFreePlace(root: Root, segments: readonly string[]): WriteTarget {
  const parent = segments.slice(0, -1);
  const name = segments[segments.length - 1] ?? "";
  checkWritableNames(root, segments);
  const [, stem, ending = ""] = /^(.+?)((?:\.tar)?\.[^.]{1,16})?$/s.exec(name) ?? ["", name];
  for (let count = 1;; count++) {
    const suffix = count > MAX_NUMBERED ? randomBytes(6).toString("hex") : String(count);
    const tried = count === 1 ? name : `${cutName(stem, ending)} (${suffix})${ending}`;
    const place = findIfFree(root, [...parent, tried]);
    if (place !== null) return place;
  }
}

/** Shortens a name so that a number and an extension fit into 255 bytes. */
function cutName(stem: string, ending: string): string {
  const encoder = new TextEncoder();
  const room = 255 - 16 - encoder.encode(ending).length;
  return stem.slice(0, encoder.encodeInto(stem, new Uint8Array(Math.max(0, room))).read);
}

function findIfFree(root: Root, segments: readonly string[]): WriteTarget | null {
  try {
    const place = findWriteTarget(root, segments);
    return place.current === null ? place : null;
  } catch (error) {
    // The name belongs to an entry that no file may replace: a folder, a link that leads outside, or a hidden file by
    // its short name.
    if (error instanceof HttpError && TAKEN.includes(error.code)) return null;
    throw error;
  }
}

const TAKEN = ["is_folder", "not_a_file", "outside_share", "hidden_name"];

function findInFolder(root: Root, folder: Folder, name: string): WriteTarget {
  const parent = folder.segments;
  const stat = fs.lstatSync(`${folder.path}/${name}`, { throwIfNoEntry: false });
  if (stat === undefined) return { parent, name, current: null };
  if (!root.isSeenBy(folder, name)) throw hiddenName();
  if (stat.isDirectory()) throw new HttpError(409, "is_folder", "There is a folder of that name.");
  if (stat.isSymbolicLink()) return followLink(root, [...parent, name]);
  if (!stat.isFile()) throw new HttpError(409, "not_a_file", "What is there is no plain file.");
  return { parent, name, current: describe(stat) };
}

function followLink(root: Root, segments: readonly string[]): WriteTarget {
  const opened = openLinked(root, segments);
  opened.close();
  if (opened.kind === "folder") throw new HttpError(409, "is_folder", "There is a folder of that name.");
  const { segments: real, stat } = opened;
  return { parent: real.slice(0, -1), name: real[real.length - 1], current: describe(stat) };
}

function openLinked(root: Root, segments: readonly string[]): ReturnType<Root["open"]> {
  try {
    return root.open(segments);
  } catch (cause) {
    throw outsideShare(cause);
  }
}

function describe(stat: fs.Stats): WriteTarget["current"] {
  return { tag: createEntityTag(stat), modified: stat.mtimeMs, mode: stat.mode & 0o777 };
}

/**
 * Refuses a write to a hidden name.
 * @throws HttpError 403
 */
export function checkWritableNames(root: Root, segments: readonly string[]): void {
  if (segments.length === 0) throw new HttpError(409, "is_root", "This is the shared folder itself.");
  segments.forEach((name, depth) => {
    if (!root.isVisible(name, segments.slice(0, depth))) throw hiddenName();
  });
}

function hiddenName(): HttpError {
  return new HttpError(403, "hidden_name", "This share does not take that name.");
}

/**
 * Opens a folder, creating missing folders on the path.
 * @throws HttpError 403 when the path leads outside, 409 when the path goes through a file
 */
export function openOrMakeFolder(root: Root, segments: readonly string[]): Folder {
  const there = openIfThere(root, segments);
  if (there !== null) return there;
  if (segments.length === 0) throw new HttpError(503, "share_gone", "The shared folder is not there any more.");
  const name = segments[segments.length - 1];
  const parent = openOrMakeFolder(root, segments.slice(0, -1));
  try {
    makeFolder(`${parent.path}/${name}`);
    return root.openFolder([...parent.segments, name]);
  } finally {
    parent.close();
  }
}

/**
 * Opens an existing folder as a write target.
 * @throws HttpError 409 for a missing folder or a file, 403 when the path leads outside
 */
export function openTargetFolder(root: Root, segments: readonly string[]): Folder {
  const folder = openIfThere(root, segments);
  if (folder === null) throw new HttpError(409, "no_parent", "The folder that this is to be in is not there.");
  return folder;
}

function makeFolder(path: string): void {
  try {
    fs.mkdirSync(path);
  } catch (error) {
    // Another request may have created the folder meanwhile. If the entry is no folder, the open fails.
    if (getErrorCode(error) !== "EEXIST") throw error;
  }
}

/** Opens a folder, or returns null when it is missing. Throws like {@link openOrMakeFolder}. */
function openIfThere(root: Root, segments: readonly string[]): Folder | null {
  try {
    return root.openFolder(segments);
  } catch (error) {
    if (getErrorCode(error) === "ENOENT") return null;
    if (getErrorCode(error) === "ENOTDIR") {
      throw new HttpError(409, "parent_is_file", "A file is where a folder would have to be.", { cause: error });
    }
    throw error instanceof HttpError ? outsideShare(error) : error;
  }
}

function outsideShare(cause: unknown): HttpError {
  return new HttpError(403, "outside_share", "This leads to where the share does not go.", { cause });
}
