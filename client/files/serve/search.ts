import { type ListedEntry, listEntries } from "./listing.ts";
import type { Folder, Root } from "../disk/root.ts";
import { TimeSlice } from "../disk/time_slice.ts";

/** What is searched for, and how much is looked at for it. */
export interface SearchOptions {
  /** Every word of it must be part of the path below the folder; case does not matter. */
  query: string;
  signal: AbortSignal;
  /** Matches returned at most. Default 1,000. */
  maxMatches?: number;
  /** Entries looked at before the search gives up. Default 200,000. */
  maxEntries?: number;
}

/** What a search found before one of its limits was reached. */
export interface SearchResult {
  /** `name` is the path below the folder that was searched. */
  matches: ListedEntry[];
  /** Whether there may be more. */
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

/** Letters of either case, and accents however they are written: Macs have made names of letter and accent apart. */
function toSearched(text: string): string {
  return text.normalize("NFC").toLowerCase();
}

/** A name with a backslash or with bytes that are not UTF-8: no path of a request can name such an entry. */
export class UnaddressableName extends Error {
  override name = "UnaddressableName";
}

/** Something below a folder, with its path from there. */
export interface Found {
  path: string;
  entry: ListedEntry;
  /** The folder that it is in, open until the next folder's turn. */
  folder: Folder;
}

/** A folder that is still to be entered. */
interface Way {
  names: readonly string[];
  /** Where it really is if no link leads there. */
  place: string;
  /** The folders on the way to it. */
  above: Passed | null;
}

interface Passed {
  place: string;
  above: Passed | null;
}

/** Folders that are entered again, through links: without a limit those that link to each other would never end. */
const MAX_REPEATS = 1000;

/**
 * Everything below a folder; null for what may not be seen, so that whoever walks can let others work in between.
 * First what no link leads to, nearest first, all of it; then what is behind links. A link to a folder that it lies in
 * is not followed, and no more than {@link MAX_REPEATS} folders are entered a second time.
 * @param onSkip told of every folder that was seen and could not be entered, and why
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
    // There can be many folders in a row that are not entered.
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

/** The folder, or null when it went away or is closed to us meanwhile. */
function openIfThere(
  root: Root,
  start: readonly string[],
  below: readonly string[],
  onSkip: (error: unknown) => void,
): Folder | null {
  try {
    // The start is opened by itself first.
    return root.openFolder([...start, ...below], below.length > 0);
  } catch (error) {
    onSkip(error);
    return null;
  }
}
