import fs, { constants } from "node:fs";
import { createHash, randomBytes } from "node:crypto";
import os from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { HttpError } from "../../../common/http_error.ts";
import { isHeldOpen, isRunning, retryWhileHeld } from "../../../common/platform/mod.ts";
import { getErrorCode, isDiskFull } from "../disk/fs_error.ts";
import type { Folder, Root } from "../disk/root.ts";
import { OWN_PREFIX } from "../disk/share_path.ts";

/** A file from an earlier run, open for appending. */
export interface AdoptedFile extends ScratchFile {
  /** The note passed to {@link ScratchFile.keep}. */
  readonly note: string;
  /** Size in bytes. */
  readonly size: number;
  /** Last write, in milliseconds since the epoch. */
  readonly modified: number;
}

/** A file without a visible name. Its creator closes it and then removes or renames it. */
export interface ScratchFile {
  readonly fd: number;
  readonly path: string;
  /** Preserves the file after this run of the share, with a descriptive note. */
  keep(note: string): void;
  /** Frees space on a full disk. Resolves with false when the trash is empty. */
  reclaim(): Promise<boolean>;
  close(): void;
  /** Removes the file and its note; leaves a renamed file alone. */
  remove(): void;
}

/** Frees space on a folder's disk. Resolves with false when the trash is empty. */
type Reclaim = (folder: string) => Promise<boolean>;

/** Extension of the note beside a preserved file. */
const NOTE = ".note";

/**
 * Identifies this machine, because process ids are only unique per machine and a folder may be shared over a network.
 */
const HOST = createHash("sha256").update(os.hostname()).digest("hex").slice(0, 8);
const NOT_PERMITTED = ["EACCES", "EPERM", "EROFS"];
const PREFIX = `${OWN_PREFIX}-uploads-${HOST}-`;

/**
 * Hidden folders for unfinished files, so that a finished file gets its name in one step. One is in the share's root,
 * or in the first writable folder on the path. Visitors create no folders below an unwritable one, so the owner's
 * folders bound their number. Each is created on first use.
 */
export class Scratch {
  readonly #root: Root;
  readonly #name = `${PREFIX}${process.pid}-${randomBytes(6).toString("hex")}`;
  readonly #folders = new Map<string, Folder>();
  #count = 0;
  #reclaim: Reclaim = () => Promise.resolve(false);

  constructor(root: Root) {
    this.#root = root;
  }

  /** Sets the function that frees space on a full disk. */
  useReclaim(reclaim: Reclaim): void {
    this.#reclaim = reclaim;
  }

  /**
   * Runs `work`, and repeats it while the disk is full and space can be freed.
   * @param folder path on disk
   * @throws the errors from `work`
   */
  async whileFull<T>(folder: string, work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isDiskFull(error) || !await this.#reclaim(folder)) throw error;
      }
    }
  }

  /**
   * Creates and opens an empty file that will hold `size` bytes, for a destination below a folder.
   * @throws HttpError 507 when the disk lacks space even without the trash, or the system's errors
   */
  async create(toward: readonly string[], size: number): Promise<ScratchFile> {
    return await this.whileFull(this.#root.path, async () => {
      const path = this.reserve(toward);
      await this.makeSpace(dirname(path), size);
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
      return this.#describe(fs.openSync(path, flags), path);
    });
  }

  /**
   * Ensures that a folder's disk has room for `bytes`. @throws HttpError 507 when it lacks space even without the trash
   */
  async makeSpace(folder: string, bytes: number): Promise<void> {
    const isShort = () => {
      const { bavail, bsize } = fs.statfsSync(folder);
      return bytes > bavail * bsize;
    };
    while (isShort()) {
      if (!await this.#reclaim(folder)) throw new HttpError(507, "disk_full", "There is no space left for this.");
    }
  }

  /** Returns a free path for an entry that moves out of the folder `toward`. Throws the system's errors. */
  reserve(toward: readonly string[]): string {
    return `${this.#open(toward, 0).path}/${++this.#count}`;
  }

  /** Opens the scratch folder at `depth` on the path `toward`, or in the first writable folder below it. */
  #open(toward: readonly string[], depth: number): Folder {
    const place = toward.slice(0, depth);
    const key = place.join("/");
    try {
      const folder = this.#folders.get(key) ?? makeScratchFolder(this.#root, place, this.#name);
      this.#folders.set(key, folder);
      return folder;
    } catch (error) {
      const isLast = depth === toward.length || !isThere(this.#root, toward.slice(0, depth + 1));
      if (isLast || !NOT_PERMITTED.includes(getErrorCode(error))) throw error;
      return this.#open(toward, depth + 1);
    }
  }

  /** Returns the files from an earlier run that can be resumed, with their notes. Removes all others. */
  adopt(): AdoptedFile[] {
    const adopted: AdoptedFile[] = [];
    for (const left of findLeftovers(this.#root.path)) {
      for (const note of fs.readdirSync(left).filter((file) => file.endsWith(NOTE))) {
        const file = this.#adopt(`${left}/${note.slice(0, -NOTE.length)}`, this.reserve([]));
        if (file !== null) adopted.push(file);
      }
    }
    removeLeftovers(this.#root, this.#root.path);
    return adopted;
  }

  #describe(fd: number, path: string): ScratchFile {
    const { platform } = this.#root;
    let isOpen = true;
    return {
      fd,
      path,
      keep: (note) => fs.writeFileSync(path + NOTE, note, { mode: 0o600 }),
      reclaim: () => this.#reclaim(dirname(path)),
      close() {
        if (isOpen) fs.closeSync(fd);
        isOpen = false;
      },
      remove() {
        for (const one of [path, path + NOTE]) {
          try {
            fs.rmSync(one, { force: true });
          } catch (error) {
            // The folder stays hidden until the share ends.
            if (!isHeldOpen(error, platform)) throw error;
          }
        }
      },
    };
  }

  /** Moves a file and its note to a new path; returns null when it is no longer available. */
  #adopt(from: string, to: string): AdoptedFile | null {
    try {
      const note = fs.readFileSync(from + NOTE, "utf8");
      fs.renameSync(from, to);
      fs.renameSync(from + NOTE, to + NOTE);
      const fd = fs.openSync(to, constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0));
      const { size, mtimeMs } = fs.fstatSync(fd);
      return { ...this.#describe(fd, to), note, size, modified: mtimeMs };
    } catch (error) {
      if (getErrorCode(error) === "") throw error;
      return null;
    }
  }

  /** Removes the folders except files with a note, which a later run may resume. */
  close(): void {
    for (const [key, folder] of this.#folders) {
      folder.close();
      const path = join(this.#root.path, key, this.#name), { platform } = this.#root;
      try {
        retryWhileHeld(() => removeUnkept(path, key === ""), { platform });
      } catch (error) {
        // A later run of the share removes it.
        if (!isHeldOpen(error, platform)) throw error;
      }
    }
    this.#folders.clear();
  }
}

/**
 * Removes a scratch folder. Files with a note move to a folder without an owner, because this process may continue to
 * run and the next start searches there.
 */
function removeUnkept(folder: string, isAdoptable: boolean): void {
  if (!fs.existsSync(folder)) return;
  const names = new Set(fs.readdirSync(folder));
  const isNote = (name: string) => name.endsWith(NOTE) && names.has(name.slice(0, -NOTE.length));
  const kept = isAdoptable ? [...names].filter((name) => isNote(name) || names.has(name + NOTE)) : [];
  for (const name of kept) names.delete(name);
  for (const name of names) fs.rmSync(join(folder, name), { recursive: true, force: true });
  if (kept.length === 0) fs.rmdirSync(folder);
  else fs.renameSync(folder, join(dirname(folder), `${PREFIX}left-${randomBytes(6).toString("hex")}`));
}

function isThere(root: Root, place: readonly string[]): boolean {
  try {
    root.openFolder(place).close();
    return true;
  } catch {
    // The folder may exist, but new entries cannot be created in it.
    return false;
  }
}

function makeScratchFolder(root: Root, place: readonly string[], name: string): Folder {
  const base = root.openFolder(place);
  try {
    fs.mkdirSync(`${base.path}/${name}`, { mode: 0o700 });
    // The constructor already did this in the root.
    if (place.length > 0) removeLeftovers(root, base.path);
    return root.openOwnFolder(base, name);
  } finally {
    base.close();
  }
}

/**
 * Removes scratch folders that killed shares on this machine left behind. Folders of running processes stay;
 * undeletable folders stay hidden.
 * @throws the system's other errors
 */
function removeLeftovers({ platform }: Root, folder: string): void {
  for (const left of findLeftovers(folder)) {
    try {
      fs.rmSync(left, { recursive: true, force: true });
    } catch (error) {
      if (!NOT_PERMITTED.includes(getErrorCode(error)) && !isHeldOpen(error, platform)) throw error;
    }
  }
}

function findLeftovers(folder: string): string[] {
  const isLeft = (name: string) =>
    name.startsWith(PREFIX) && !isRunning(Number(name.slice(PREFIX.length).split("-")[0]));
  return fs.readdirSync(folder).filter(isLeft).map((name) => `${folder}/${name}`);
}
