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

/** A file of an earlier run, open for writing at its end. */
export interface AdoptedFile extends ScratchFile {
  /** What {@link ScratchFile.keep} was told. */
  readonly note: string;
  /** Bytes that are in it. */
  readonly size: number;
  /** When it was last written to, in milliseconds since the epoch. */
  readonly modified: number;
}

/** A file without a name of its own yet. Whoever made it closes it and then removes it or gives it a name. */
export interface ScratchFile {
  readonly fd: number;
  readonly path: string;
  /** Makes it outlive this run of the share, with a note of what it is. */
  keep(note: string): void;
  /** Frees space on a full disk. Returns false when there is nothing to remove. */
  reclaim(): Promise<boolean>;
  close(): void;
  /** Removes the file and its note; no effect on the file when it has got its name. */
  remove(): void;
}

/** Frees space on the disk of a folder. Resolves with false when there is nothing to remove. */
type Reclaim = (folder: string) => Promise<boolean>;

/** Ending of the note beside a file that outlives the run. */
const NOTE = ".note";

/** Tells machines apart that share one folder over a network: a process id means something only at home. */
const HOST = createHash("sha256").update(os.hostname()).digest("hex").slice(0, 8);
const NOT_PERMITTED = ["EACCES", "EPERM", "EROFS"];
const PREFIX = `${OWN_PREFIX}-uploads-${HOST}-`;

/**
 * Hidden folders of the share for what is not finished, so that a finished file gets its name in one step. There is
 * one in the share's root; where the system does not let us write there, in the first folder on the way that it does.
 * Visitors make no folders where we may not write, so there are as many as whoever owns the share has made room for.
 * Each is made when it is first needed.
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
   * Runs `work`, and again as long as it fails on a full disk and space can be freed there.
   * @param folder path on the disk
   * @throws as `work`
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
   * Makes an empty file for `size` bytes that is to go to a folder or below it, and opens it for writing.
   * @throws HttpError 507 when there is not enough space even without the trash, the system's errors
   */
  async create(toward: readonly string[], size: number): Promise<ScratchFile> {
    return await this.whileFull(this.#root.path, async () => {
      const path = this.reserve(toward);
      await this.makeSpace(dirname(path), size);
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
      return this.#describe(fs.openSync(path, flags), path);
    });
  }

  /** Makes sure that `bytes` fit on the disk of a folder. @throws HttpError 507 when they do not even without the trash */
  async makeSpace(folder: string, bytes: number): Promise<void> {
    const isShort = () => {
      const { bavail, bsize } = fs.statfsSync(folder);
      return bytes > bavail * bsize;
    };
    while (isShort()) {
      if (!await this.#reclaim(folder)) throw new HttpError(507, "disk_full", "There is no space left for this.");
    }
  }

  /** A free path, for a thing to be moved to that is in the folder `toward`. Throws the system's errors. */
  reserve(toward: readonly string[]): string {
    return `${this.#open(toward, 0).path}/${++this.#count}`;
  }

  /** The scratch folder in `place`, which is on the way to `toward`, or in the first one below it that lets us. */
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

  /**
   * Takes files that an earlier run left and that may go on: of each its path and the note beside it. What is not
   * taken is removed.
   */
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
            // It stays out of sight until the share ends.
            if (!isHeldOpen(error, platform)) throw error;
          }
        }
      },
    };
  }

  /** Moves a file and its note to a new path; null when it cannot be had any more. */
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

  /** Removes the folders and all that is in them but files with a note, which a later run of the share may take. */
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
 * Removes a scratch folder. Files with a note stay, where they are looked for at the next start, in a folder that is
 * nobody's: this process may run on.
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
    // It may be there; what matters is that nothing can be made in it.
    return false;
  }
}

function makeScratchFolder(root: Root, place: readonly string[], name: string): Folder {
  const base = root.openFolder(place);
  try {
    fs.mkdirSync(`${base.path}/${name}`, { mode: 0o700 });
    // In the root it was done at the start.
    if (place.length > 0) removeLeftovers(root, base.path);
    return root.openOwnFolder(base, name);
  } finally {
    base.close();
  }
}

/**
 * Removes what shares of this machine left behind in a folder when they were killed.
 * Those of processes that still run are theirs; what may not be removed stays, hidden.
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
