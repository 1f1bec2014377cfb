import { type ListedEntry, listEntries } from "./listing.ts";
import type { Folder, Root } from "../disk/root.ts";
import { TimeSlice } from "../disk/time_slice.ts";

/** The search words and limits. */
export interface SearchOptions {
  /** Words that must all occur in the path below the folder, in any case. */
  query: string;
  signal: AbortSignal;
  /** Matches returned at most. Default 1,000. */
  maxMatches?: number;
  /** Entries examined at most. Default 200,000. */
  maxEntries?: number;
}

/** The matches found within the limits. */
export interface SearchResult {
  /** `name` is the path below the folder that was searched. */
  matches: ListedEntry[];
  /** Whether more matches may exist. */
  isPartial: boolean;
}

/** Searches names below a folder, in the order of {@link walk}. */
export async function searchNames(root: Root, start: readonly string[], options: SearchOptions): Promise<SearchResult> {
  const { signal, maxMatches = 1000, maxEntries = 200_000 } = options;
  const words = toSearched(options.query).split(/\s+/).filter((word) => word !== "");
  const matches: ListedEntry[] = [];
  let seen = 0;
  const slice = new TimeSlice();
  for (const found of walk(root, start)) {
    if (slice.isOver) await slice.next(signal);
    if (++seen > maxEntries || matches.length >= maxMatches) return { matches, isPartial: true };
    if (found === null) continue;
    const { path, entry } = found;
    const searched = toSearched(path);
    if (words.every((word) => searched.includes(word))) matches.push({ ...entry, name: path });
  }
  return { matches, isPartial: false };
}

/** Folds case and Unicode forms. macOS stores letters and accents separately. */
function toSearched(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/** Signals a name with a backslash or invalid UTF-8, which no request path can express. */
export class UnaddressableName extends Error {
  override name = "UnaddressableName";
}

/** An entry below a folder, with its relative path. */
export interface Found {
  path: string;
  entry: ListedEntry;
  /** The folder that contains the entry; open until the next folder is read. */
  folder: Folder;
}

/** A folder to enter later. */
interface Way {
  names: readonly string[];
  /** The real path without links. */
  place: string;
  /** The folders on the path to this one. */
  above: Passed | null;
}

interface Passed {
  place: string;
  above: Passed | null;
}

/** Limits repeated visits of a folder through links. Folders that link to each other would otherwise never end. */
const MAX_REPEATS = 1000;

/**
 * Yields every entry below a folder, and null for a hidden entry so that callers can let other work run in between.
 * Entries without links come first, nearest first, then entries behind links. A link to an enclosing folder is not
 * followed, and at most {@link MAX_REPEATS} folders are entered again.
 * @param onSkip called with each visible folder that could not be opened, and the error
 */
export function* walk(
  root: Root,
  start: readonly string[],
  onSkip: (path: string, error: unknown) => void = () => {},
): Generator<Found | null> {
  const [own, linked]: [Way[], Way[]] = [[], []];
  const entered = new Set<string>();
  let repeats = 0;
  let isOwn = true;
  let way: Way | undefined = { names: [], place: "", above: null };
  for (; way !== undefined; way = take()) {
    // Many consecutive folders may be skipped.
    yield null;
    const { names: below } = way;
    const folder = openIfThere(root, start, below, (error) => onSkip(below.join("/"), error));
    if (folder === null) continue;
    try {
      const place = folder.segments.join("/");
      if (isOwn && place !== way.place && way.names.length > 0) {
        linked.push(way);
        continue;
      }
      if (hasPassed(way.above, place) || (entered.has(place) && ++repeats > MAX_REPEATS)) continue;
      entered.add(place);
      const here: Passed = { place, above: way.above };
      const skip = (name: string) => onSkip([...below, name].join("/"), new UnaddressableName());
      for (const entry of listEntries(root, folder, skip)) {
        if (entry === null) {
          yield null;
          continue;
        }
        const names = [...way.names, entry.name];
        yield { path: names.join("/"), entry, folder };
        if (entry.kind === "file") continue;
        (isOwn ? own : linked).push({ names, place: [...folder.segments, entry.name].join("/"), above: here });
      }
    } finally {
      folder.close();
    }
  }

  function take(): Way | undefined {
    isOwn = own.length > 0;
    return own.shift() ?? linked.shift();
  }
}

function hasPassed(passed: Passed | null, place: string): boolean {
  for (let at = passed; at !== null; at = at.above) {
    if (at.place === place) return true;
  }
  return false;
}

/** Opens the folder, or returns null when it was deleted or became unreadable. */
function openIfThere(
  root: Root,
  start: readonly string[],
  below: readonly string[],
  onSkip: (error: unknown) => void,
): Folder | null {
  try {
    // The start is opened separately first.
    return root.openFolder([...start, ...below], below.length > 0);
  } catch (error) {
    onSkip(error);
    return null;
  }
}
