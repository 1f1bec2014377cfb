import { type ListedEntry, listEntries } from "./listing.ts";
import type { Folder, Root } from "./root.ts";
import { TimeSlice } from "./time_slice.ts";

export interface SearchOptions {
  /** Every word of it must be part of the path below the folder; case does not matter. */
  query: string;
  signal: AbortSignal;
  /** Matches returned at most. Default 1,000. */
  maxMatches?: number;
  /** Entries looked at before the search gives up. Default 200,000. */
  maxEntries?: number;
}

export interface SearchResult {
  /** `name` is the path below the folder that was searched. */
  matches: ListedEntry[];
  /** Whether there may be more. */
  isPartial: boolean;
}

/** Searches names below a folder, nearest first. A folder that several links lead to is entered once, so it ends. */
export async function searchNames(root: Root, start: readonly string[], options: SearchOptions): Promise<SearchResult> {
  const { signal, maxMatches = 1000, maxEntries = 200_000 } = options;
  const words = options.query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const matches: ListedEntry[] = [];
  let seen = 0;
  const slice = new TimeSlice();
  for (const found of walk(root, start)) {
    if (slice.isOver) await slice.next(signal);
    if (++seen > maxEntries || matches.length >= maxMatches) return { matches, isPartial: true };
    if (found === null) continue;
    const { path, entry } = found;
    const lower = path.toLowerCase();
    if (words.every((word) => lower.includes(word))) matches.push({ ...entry, name: path });
  }
  return { matches, isPartial: false };
}

/** Something below a folder, with its path from there. */
export interface Found {
  path: string;
  entry: ListedEntry;
  /** The folder that it is in, open until the next folder's turn. */
  folder: Folder;
}

/**
 * Everything below a folder, breadth first; null for what may not be seen, so that whoever walks can let others work
 * in between. Each folder is entered once, under its real place: links that lead back up end there.
 */
export function* walk(root: Root, start: readonly string[]): Generator<Found | null> {
  const waiting: string[][] = [[]];
  const entered = new Set<string>();
  for (let below = waiting.shift(); below !== undefined; below = waiting.shift()) {
    const folder = openIfThere(root, [...start, ...below]);
    if (folder === null) continue;
    try {
      const place = folder.segments.join("/");
      if (entered.has(place)) continue;
      entered.add(place);
      for (const entry of listEntries(root, folder)) {
        yield entry === null ? null : { path: [...below, entry.name].join("/"), entry, folder };
        if (entry?.kind === "folder") waiting.push([...below, entry.name]);
      }
    } finally {
      folder.close();
    }
  }
}

/** The folder, or null when it went away or is closed to us meanwhile. */
function openIfThere(root: Root, segments: readonly string[]): Folder | null {
  try {
    return root.openFolder(segments);
  } catch {
    return null;
  }
}
