import fs from "node:fs";
import type { Folder, Root } from "../disk/root.ts";
import { isMaskedName } from "../disk/share_path.ts";
import { TimeSlice } from "../disk/time_slice.ts";

/** What a visitor sees of one entry. */
export interface ListedEntry {
  name: string;
  kind: "file" | "folder";
  /** Bytes; 0 for a folder. */
  size: number;
  /** Milliseconds since the epoch. */
  modified: number;
}

/** Lists what may be seen of a folder, by name. The folder stays open and the caller's. */
export async function listFolder(root: Root, folder: Folder, signal?: AbortSignal): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = [];
  const slice = new TimeSlice();
  for (const entry of listEntries(root, folder)) {
    if (entry !== null) entries.push(entry);
    if (slice.isOver) await slice.next(signal);
  }
  return entries;
}

/**
 * The entries of a folder by name, each looked at when it is asked for; null for one that may not be seen, so that
 * whoever goes through them can let others work in between. The folder must stay open.
 * @param onUnaddressable called for a shown entry whose name no address can carry
 */
export function* listEntries(
  root: Root,
  folder: Folder,
  onUnaddressable: (name: string) => void = () => {},
): Generator<ListedEntry | null> {
  for (const name of root.listNames(folder).sort()) yield describeEntry(root, folder, name, onUnaddressable);
}

/** Stands for bytes that are not UTF-8 in a name that the runtime has decoded. */
const REPLACEMENT = "\ufffd";

function describeEntry(
  root: Root,
  folder: Folder,
  name: string,
  onUnaddressable: (name: string) => void,
): ListedEntry | null {
  if (!root.isVisible(name, folder.segments) || isMaskedName(name)) return null;
  const entry = name.includes("\\") ? null : root.statEntry(folder, name);
  if (entry === null) {
    if (name.includes("\\") || name.includes(REPLACEMENT)) onUnaddressable(name);
    return null;
  }
  const { kind, size, modified } = entry;
  return { name, kind, size: kind === "file" ? size : 0, modified };
}

/** Lists folders as JSON text, and keeps what it made for a moment. */
export interface ListingCache {
  /** The entries of a folder as a JSON array. */
  listJson(folder: Folder): Promise<string>;
  /** Forgets everything: something was changed through the share. */
  clear(): void;
}

/** How long a listing may be shown again. A change of names shows at once whatever this is, a change of size after it. */
const KEPT_MS = 1000;
/** Longer than any tick of a file system's clock. */
const TICK_MS = 100;
/** Folders remembered. */
const MAX_KEPT = 32;

/**
 * A cache that makes it cheap when many visitors open one large folder: a listing is made once at a time and shown
 * again for a second, unless the folder itself has changed.
 */
export function createListingCache(root: Root, now: () => number = Date.now): ListingCache {
  const kept = new Map<string, { stamp: string; at: number; json: Promise<string> }>();

  function listJson(folder: Folder): Promise<string> {
    const { dev, ino, mtimeMs, ctimeMs } = fs.fstatSync(folder.fd);
    // Too fresh: another change within the same tick of the file system's clock would leave no trace.
    if (now() - mtimeMs < TICK_MS) return makeJson(folder);
    const key = folder.segments.join("/");
    const stamp = `${dev}:${ino}:${mtimeMs}:${ctimeMs}`;
    const found = kept.get(key);
    if (found !== undefined && found.stamp === stamp && now() - found.at < KEPT_MS) return found.json;
    const made = { stamp, at: now(), json: makeJson(folder) };
    kept.delete(key);
    kept.set(key, made);
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value ?? key);
    made.json.then(() => made.at = now(), () => kept.get(key) === made && kept.delete(key));
    return made.json;
  }

  async function makeJson(folder: Folder): Promise<string> {
    // Its own handle: the caller that asked first may be gone before the others that wait for the same listing.
    const own = root.openFolder(folder.segments);
    try {
      return JSON.stringify(await listFolder(root, own));
    } finally {
      own.close();
    }
  }

  return { listJson, clear: () => kept.clear() };
}
