import fs from "node:fs";
import type { Folder, Root } from "../disk/root.ts";
import { isMaskedName } from "../disk/share_path.ts";
import { TimeSlice } from "../disk/time_slice.ts";

/** An entry as visitors see it. */
export interface ListedEntry {
  name: string;
  kind: "file" | "folder";
  /** Bytes; 0 for a folder. */
  size: number;
  /** Milliseconds since the epoch. */
  modified: number;
}

/** Lists the visible entries in a folder by name. The caller keeps the open folder. */
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
 * Yields the entries in a folder by name and reads each one on demand. Yields null for a hidden entry, so that callers
 * can let other work run in between. The folder must stay open.
 * @param onUnaddressable called for a visible entry whose name no URL can express
 */
export function* listEntries(
  root: Root,
  folder: Folder,
  onUnaddressable: (name: string) => void = () => {},
): Generator<ListedEntry | null> {
  for (const name of root.listNames(folder).sort()) yield describeEntry(root, folder, name, onUnaddressable);
}

/** Replaces bytes in a decoded name that are not UTF-8. */
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

/** Lists folders as JSON text and caches the results briefly. */
export interface ListingCache {
  /** Returns the folder's entries as a JSON array. */
  listJson(folder: Folder): Promise<string>;
  /** Clears the cache after a change through the share. */
  clear(): void;
}

/** Lifetime of a cached listing, in milliseconds. Changed names show at once; changed sizes show after this time. */
const KEPT_MS = 1000;
/** Exceeds the clock tick of every file system, in milliseconds. */
const TICK_MS = 100;
/** Folders cached at most. */
const MAX_KEPT = 32;

/**
 * Creates a cache for large folders with many visitors. A listing is made once at a time and reused for a second,
 * unless the folder itself changes.
 */
export function createListingCache(root: Root, now: () => number = Date.now): ListingCache {
  const kept = new Map<string, { stamp: string; at: number; json: Promise<string> }>();

  function listJson(folder: Folder): Promise<string> {
    const { dev, ino, mtimeMs, ctimeMs } = fs.fstatSync(folder.fd);
    // The folder is too fresh: another change within the same file-system tick would not alter the timestamp.
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
    // Use a separate handle, because the first requester may disconnect before the others that wait for this listing.
    const own = root.openFolder(folder.segments);
    try {
      return JSON.stringify(await listFolder(root, own));
    } finally {
      own.close();
    }
  }

  return { listJson, clear: () => kept.clear() };
}
