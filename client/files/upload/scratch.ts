import fs, { constants } from "node:fs";
import { createHash, randomBytes } from "node:crypto";
import os from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { HttpError } from "../../../common/http_error.ts";
import { getErrorCode } from "../disk/fs_error.ts";
import { type Folder, OWN_PREFIX, type Root } from "../disk/root.ts";

/**
 * Hidden folders of the share for what is not finished, so that a finished file gets its name in one step. There is
 * one in the share's root; where the system does not let us write there, in the first folder on the way that it does.
 * Visitors make no folders where we may not write, so there are as many as whoever owns the share has made room for.
 */
export interface Scratch {
  /**
   * Makes an empty file for `size` bytes that is to go to a folder or below it, and opens it for writing.
   * @throws HttpError 507 when there is not enough space, the system's errors
   */
  create(toward: readonly string[], size: number): ScratchFile;
  /** A free path, for a thing to be moved to that is in the folder `toward`. Throws the system's errors. */
  reserve(toward: readonly string[]): string;
  /** Removes the folders and all that is in them. */
  close(): void;
}

/** A file without a name of its own yet. Whoever made it closes it and then removes it or gives it a name. */
export interface ScratchFile {
  readonly fd: number;
  readonly path: string;
  close(): void;
  /** Removes the file; no effect when it has got its name. */
  remove(): void;
}

/** Tells machines apart that share one folder over a network: a process id means something only at home. */
const HOST = createHash("sha256").update(os.hostname()).digest("hex").slice(0, 8);
const NOT_PERMITTED = ["EACCES", "EPERM", "EROFS"];
const PREFIX = `${OWN_PREFIX}-uploads-${HOST}-`;

/** The scratch folders of this share; each is made when it is first needed. */
export function createScratch(root: Root): Scratch {
  const name = `${PREFIX}${process.pid}-${randomBytes(6).toString("hex")}`;
  const folders = new Map<string, Folder>();
  let count = 0;

  /** The scratch folder in `place`, which is on the way to `toward`, or in the first one below it that lets us. */
  function openScratch(toward: readonly string[], depth: number): Folder {
    const place = toward.slice(0, depth);
    const key = place.join("/");
    try {
      const folder = folders.get(key) ?? makeScratchFolder(root, place, name);
      folders.set(key, folder);
      return folder;
    } catch (error) {
      const isLast = depth === toward.length || !isThere(root, toward.slice(0, depth + 1));
      if (isLast || !NOT_PERMITTED.includes(getErrorCode(error))) throw error;
      return openScratch(toward, depth + 1);
    }
  }

  function reserve(toward: readonly string[]): string {
    return `${openScratch(toward, 0).path}/${++count}`;
  }

  function create(toward: readonly string[], size: number): ScratchFile {
    const path = reserve(toward);
    checkSpace(dirname(path), size);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
    const fd = fs.openSync(path, flags);
    let isOpen = true;
    return {
      fd,
      path,
      close() {
        if (isOpen) fs.closeSync(fd);
        isOpen = false;
      },
      remove: () => fs.rmSync(path, { force: true }),
    };
  }

  function close(): void {
    for (const [key, folder] of folders) {
      folder.close();
      fs.rmSync(join(root.path, key, name), { recursive: true, force: true });
    }
    folders.clear();
  }

  return { create, reserve, close };
}

function isThere(root: Root, place: readonly string[]): boolean {
  try {
    root.openFolder(place).close();
    return true;
  } catch {
    // It may be there; what matters is that nothing can be made in it.
    return false;
  }
}

function makeScratchFolder(root: Root, place: readonly string[], name: string): Folder {
  const base = root.openFolder(place);
  try {
    fs.mkdirSync(`${base.path}/${name}`, { mode: 0o700 });
    // In the root it was done at the start.
    if (place.length > 0) removeLeftovers(base.path);
    return root.openOwnFolder(base, name);
  } finally {
    base.close();
  }
}

/** Refuses at once what cannot fit, instead of filling the disk to the last byte first. */
function checkSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = fs.statfsSync(folder);
  if (bytes > bavail * bsize) throw new HttpError(507, "disk_full", "There is no space left for this.");
}

/**
 * Removes what shares of this machine left behind in a folder when they were killed.
 * Those of processes that still run are theirs; what cannot be removed stays, hidden.
 */
export function removeLeftovers(folder: string): void {
  for (const name of fs.readdirSync(folder)) {
    if (!name.startsWith(PREFIX) || isRunning(Number(name.slice(PREFIX.length).split("-")[0]))) continue;
    try {
      fs.rmSync(`${folder}/${name}`, { recursive: true, force: true });
    } catch (error) {
      if (!NOT_PERMITTED.includes(getErrorCode(error))) throw error;
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return getErrorCode(error) === "EPERM";
  }
}
