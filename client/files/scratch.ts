import fs, { constants } from "node:fs";
import { createHash, randomBytes } from "node:crypto";
import os from "node:os";
import process from "node:process";
import { getErrorCode } from "./fs_error.ts";
import { type Folder, OWN_PREFIX, type Root } from "./root.ts";

/**
 * A hidden folder of the share for what is not finished: on the same file system as everything else in it, so that
 * a finished file gets its name in one step.
 */
export interface Scratch {
  /** Makes an empty file and opens it for writing. */
  create(): ScratchFile;
  /** A free path in it, for a thing to be moved to. */
  reserve(): string;
  /** Removes the folder and all that is in it. */
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
const PREFIX = `${OWN_PREFIX}-uploads-${HOST}-`;

/** The scratch folder of this share; it is made when it is first needed. */
export function createScratch(root: Root): Scratch {
  const name = `${PREFIX}${process.pid}-${randomBytes(6).toString("hex")}`;
  let folder: Folder | null = null;
  let count = 0;

  function reserve(): string {
    folder ??= makeScratchFolder(root, name);
    return `${folder.path}/${++count}`;
  }

  function create(): ScratchFile {
    const path = reserve();
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
    if (folder === null) return;
    folder.close();
    folder = null;
    fs.rmSync(`${root.path}/${name}`, { recursive: true, force: true });
  }

  return { create, reserve, close };
}

function makeScratchFolder(root: Root, name: string): Folder {
  const base = root.openFolder([]);
  try {
    fs.mkdirSync(`${base.path}/${name}`, { mode: 0o700 });
    return root.openOwnFolder(base, name);
  } finally {
    base.close();
  }
}

/**
 * Removes what shares of this machine left behind when they were killed.
 * Those of processes that still run are theirs; what cannot be removed stays, hidden.
 */
export function removeLeftovers(root: Root): void {
  for (const name of fs.readdirSync(root.path)) {
    if (!name.startsWith(PREFIX) || isRunning(Number(name.slice(PREFIX.length).split("-")[0]))) continue;
    try {
      fs.rmSync(`${root.path}/${name}`, { recursive: true, force: true });
    } catch (error) {
      if (!["EACCES", "EPERM", "EROFS"].includes(getErrorCode(error))) throw error;
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
