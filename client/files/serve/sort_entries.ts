import { HttpError } from "../../../common/http_error.ts";
import type { ListedEntry } from "./listing.ts";

/** Comparison keys; `mtime` is the dufs name. */
const COMPARE: Readonly<Record<string, (a: ListedEntry, b: ListedEntry) => number>> = {
  name: (a, b) => collator.compare(a.name, b.name),
  size: (a, b) => a.size - b.size,
  modified: (a, b) => a.modified - b.modified,
  mtime: (a, b) => a.modified - b.modified,
};

/** Natural order: ignores case and compares numbers by value. */
const collator = new Intl.Collator("en", { numeric: true });

/**
 * Sorts entries by `?sort=name|size|modified&order=asc|desc`, folders first. Without `sort` the order is unchanged.
 * @throws HttpError 400 for an unknown value
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
