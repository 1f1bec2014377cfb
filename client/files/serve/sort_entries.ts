import { HttpError } from "../../../common/http_error.ts";
import type { ListedEntry } from "./listing.ts";

/** What entries are compared by, and `mtime` as dufs calls it. */
const COMPARE: Readonly<Record<string, (a: ListedEntry, b: ListedEntry) => number>> = {
  name: (a, b) => collator.compare(a.name, b.name),
  size: (a, b) => a.size - b.size,
  modified: (a, b) => a.modified - b.modified,
  mtime: (a, b) => a.modified - b.modified,
};

/** As people order names: case aside, and numbers by what they count. */
const collator = new Intl.Collator("en", { numeric: true });

/**
 * Orders entries as `?sort=name|size|modified&order=asc|desc` asks; folders come first. Without `sort` they stay.
 * @throws HttpError 400 for another word
 */
export function sortEntries(entries: readonly ListedEntry[], query: URLSearchParams): readonly ListedEntry[] {
  const sort = query.get("sort");
  if (sort === null) return entries;
  const order = query.get("order") ?? "asc";
  if (!Object.hasOwn(COMPARE, sort) || !["asc", "desc"].includes(order)) {
    throw new HttpError(400, "bad_sort", "sort is name, size or modified, and order asc or desc.");
  }
  const compare = COMPARE[sort];
  const sign = order === "desc" ? -1 : 1;
  return entries.toSorted((a, b) => Number(a.kind === "file") - Number(b.kind === "file") || sign * compare(a, b));
}
