// @ts-check
// What an address of the page stands for.

import { toNames, toPath } from "../parts/api.js";

/**
 * A folder, or what a search below it finds.
 * @typedef {{ names: import("../parts/api.js").Names, query: string | null }} Place
 */

/**
 * @param {Pick<Location, "pathname" | "search">} address
 * @returns {Place}
 */
export function readPlace({ pathname, search }) {
  return { names: toNames(pathname), query: new URLSearchParams(search).get("search") };
}

/** @param {Place} place */
export function toAddress({ names, query }) {
  return toPath(names, true) + (query === null ? "" : `?search=${encodeURIComponent(query)}`);
}

/**
 * One step up: from a search to the folder that it is below, from a folder to the one above; null at the top.
 * @param {Place} place
 * @returns {Place | null}
 */
export function findAbove({ names, query }) {
  if (query !== null) return { names, query: null };
  return names.length === 0 ? null : { names: names.slice(0, -1), query: null };
}

/**
 * Index of the file before or after another one, past folders; -1 when there is none.
 * @param {readonly import("../parts/api.js").Entry[]} entries
 * @param {number} from
 * @param {number} direction 1 for the next file, -1 for the one before
 */
export function findNextFile(entries, from, direction) {
  if (from < 0) return -1;
  for (let index = from + direction; index >= 0 && index < entries.length; index += direction) {
    if (entries[index].kind === "file") return index;
  }
  return -1;
}
