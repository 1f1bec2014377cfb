import fs from "node:fs";
import { randomBytes } from "node:crypto";
import { HttpError } from "../../../common/http_error.ts";
import { moveAside, type MovedAside, type Subject } from "./changes.ts";
import { removeAside } from "../disk/remove_aside.ts";
import type { Root } from "../disk/root.ts";
import type { Scratch } from "../upload/scratch.ts";
import { serializePath } from "../disk/share_path.ts";
import { openOrMakeFolder } from "../disk/write_target.ts";

/** What a visitor is told of something in the trash. */
export interface TrashedEntry {
  id: string;
  /** Escaped absolute path of where it was. */
  path: string;
  kind: "file" | "folder";
  /** Bytes; 0 for a folder. */
  size: number;
  /** When, in milliseconds since the epoch. */
  deleted: number;
}

/** How long something stays, and how much at most: what is in it takes up the owner's disk. */
const KEPT_MS = 60 * 60 * 1000;
const MAX_ENTRIES = 1000;
const MAX_NAMES = 1000;

interface Kept extends MovedAside {
  segments: readonly string[];
  deleted: number;
}

/** What visitors deleted while the share runs, in its scratch folders, so that it can be put back. It ends with the share. */
export class Trash {
  readonly #root: Root;
  readonly #scratch: Scratch;
  readonly #kept = new Map<string, Kept>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(root: Root, scratch: Scratch) {
    this.#root = root;
    this.#scratch = scratch;
    scratch.useReclaim((folder) => this.#reclaim(folder));
  }

  /** Deletes the oldest entry on the disk of `folder`, to free space there. Returns false when the trash has none. */
  async #reclaim(folder: string): Promise<boolean> {
    const { dev } = fs.statSync(folder);
    const oldest = [...this.#kept].find(([, { path }]) => fs.lstatSync(path, { throwIfNoEntry: false })?.dev === dev);
    if (oldest === undefined) return false;
    const [id, { path }] = oldest;
    this.#kept.delete(id);
    await removeAside(this.#root, path);
    return true;
  }

  /**
   * Moves an entry out of sight and returns the id that it is put back by. Throws 404, as the check, or 409 `no_trash`
   * when there is nowhere to keep it: it can be deleted for good then.
   */
  async add(subject: Subject): Promise<string> {
    const moved = await moveAside(this.#root, this.#scratch, subject);
    const id = randomBytes(12).toString("hex");
    this.#kept.set(id, { ...moved, segments: subject.segments, deleted: Date.now() });
    await this.#dropOldest(this.#kept.size - MAX_ENTRIES);
    if (this.#timer === undefined) this.#schedule();
    return id;
  }

  /** Puts something back where it was, or beside it when its name is taken; returns where. Throws 404. */
  restore(id: string): readonly string[] {
    const found = this.#kept.get(id);
    if (found === undefined) {
      throw new HttpError(404, "not_in_trash", "This was deleted for good, or is back already.");
    }
    // Taken first: of two who put it back at once one finds nothing.
    this.#kept.delete(id);
    const folder = openOrMakeFolder(this.#root, found.segments.slice(0, -1));
    try {
      const name = findFreeName((name) => isTaken(`${folder.path}/${name}`), found.segments.at(-1) ?? "");
      fs.renameSync(found.path, `${folder.path}/${name}`);
      return [...folder.segments, name];
    } catch (error) {
      this.#kept.set(id, found);
      throw error;
    } finally {
      folder.close();
    }
  }

  /** Where something was that can be put back; null when it cannot. */
  find(id: string): readonly string[] | null {
    return this.#kept.get(id)?.segments ?? null;
  }

  /** What is in it, the latest first. */
  list(): TrashedEntry[] {
    return [...this.#kept].reverse().map(([id, { segments, kind, size, deleted }]) => {
      return { id, path: serializePath(segments, kind === "folder"), kind, size, deleted };
    });
  }

  /** Removes all that is in it. */
  empty(): Promise<void> {
    return this.#dropOldest(this.#kept.size);
  }

  #schedule(): void {
    const [first] = this.#kept.values();
    this.#timer = first === undefined
      ? undefined
      : setTimeout(() => this.#expire(), first.deleted + KEPT_MS - Date.now());
    // A share that ends is not kept open by what it would throw away.
    if (typeof this.#timer === "object") this.#timer.unref();
  }

  async #expire(): Promise<void> {
    const due = [...this.#kept.values()].filter(({ deleted }) => deleted + KEPT_MS <= Date.now()).length;
    await this.#dropOldest(due);
    this.#schedule();
  }

  async #dropOldest(count: number): Promise<void> {
    for (const [id, { path }] of [...this.#kept].slice(0, Math.max(0, count))) {
      this.#kept.delete(id);
      await removeAside(this.#root, path);
    }
  }

  /** Forgets what is in it: the files go with the scratch folder that they are in. */
  close(): void {
    clearTimeout(this.#timer);
    this.#kept.clear();
  }
}

function isTaken(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** `name`, or "name (2)" and so on, whatever is free. */
function findFreeName(isTaken: (name: string) => boolean, name: string): string {
  const [, base = name, ending = ""] = /^(.+?)(\.[^.]*)?$/s.exec(name) ?? [];
  for (let count = 1; count <= MAX_NAMES; count++) {
    const tried = count === 1 ? name : `${base} (${count})${ending}`;
    if (!isTaken(tried)) return tried;
  }
  throw new HttpError(409, "already_exists", "Something of that name is already there.");
}
