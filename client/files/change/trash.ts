import fs from "node:fs";
import { randomBytes } from "node:crypto";
import { HttpError } from "../../../common/http_error.ts";
import { moveAside, type MovedAside, type Subject } from "./changes.ts";
import { getErrorCode } from "../disk/fs_error.ts";
import type { Root } from "../disk/root.ts";
import type { Scratch } from "../upload/scratch.ts";
import { serializePath } from "../disk/share_path.ts";
import { openOrMakeFolder } from "../disk/write_place.ts";

/** What visitors deleted while the share runs, so that it can be put back. It ends with the share. */
export interface Trash {
  /**
   * Moves an entry out of sight and returns the id that it is put back by. Throws 404, as the check, or 409 `no_trash`
   * when there is nowhere to keep it: it can be deleted for good then.
   */
  add(subject: Subject): Promise<string>;
  /** Puts something back where it was, or beside it when its name is taken; returns where. Throws 404. */
  restore(id: string): readonly string[];
  /** Where something was that can be put back; null when it cannot. */
  find(id: string): readonly string[] | null;
  /** What is in it, the latest first. */
  list(): TrashedEntry[];
  /** Removes all that is in it. */
  empty(): Promise<void>;
  /** Forgets what is in it: the files go with the scratch folder that they are in. */
  close(): void;
}

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

/** A trash in the scratch folders of a share. */
export function createTrash(root: Root, scratch: Scratch): Trash {
  const kept = new Map<string, Kept>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function add(subject: Subject): Promise<string> {
    const moved = await moveAside(root, scratch, subject);
    const id = randomBytes(12).toString("hex");
    kept.set(id, { ...moved, segments: subject.segments, deleted: Date.now() });
    await dropOldest(kept.size - MAX_ENTRIES);
    if (timer === undefined) schedule();
    return id;
  }

  function restore(id: string): readonly string[] {
    const found = kept.get(id);
    if (found === undefined) {
      throw new HttpError(404, "not_in_trash", "This was deleted for good, or is back already.");
    }
    // Taken first: of two who put it back at once one finds nothing.
    kept.delete(id);
    const folder = openOrMakeFolder(root, found.segments.slice(0, -1));
    try {
      const name = findFreeName((name) => isTaken(`${folder.path}/${name}`), found.segments.at(-1) ?? "");
      fs.renameSync(found.path, `${folder.path}/${name}`);
      return [...folder.segments, name];
    } catch (error) {
      kept.set(id, found);
      throw error;
    } finally {
      folder.close();
    }
  }

  function list(): TrashedEntry[] {
    return [...kept].reverse().map(([id, { segments, kind, size, deleted }]) => {
      return { id, path: serializePath(segments, kind === "folder"), kind, size, deleted };
    });
  }

  function schedule(): void {
    const [first] = kept.values();
    timer = first === undefined ? undefined : setTimeout(expire, first.deleted + KEPT_MS - Date.now());
    // A share that ends is not kept open by what it would throw away.
    if (typeof timer === "object") timer.unref();
  }

  async function expire(): Promise<void> {
    const due = [...kept.values()].filter(({ deleted }) => deleted + KEPT_MS <= Date.now()).length;
    await dropOldest(due);
    schedule();
  }

  async function dropOldest(count: number): Promise<void> {
    for (const [id, { path }] of [...kept].slice(0, Math.max(0, count))) {
      kept.delete(id);
      await remove(path);
    }
  }

  return {
    add,
    restore,
    find: (id) => kept.get(id)?.segments ?? null,
    list,
    empty: () => dropOldest(kept.size),
    close() {
      clearTimeout(timer);
      kept.clear();
    },
  };
}

async function remove(path: string): Promise<void> {
  try {
    await fs.promises.rm(path, { recursive: true, force: true });
  } catch (error) {
    // What may not be removed stays out of sight; the end of the share tries again.
    if (getErrorCode(error) === "") throw error;
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
