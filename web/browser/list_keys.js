// @ts-check
// Keys that move through a list or a grid.

/** @typedef {"next" | "previous" | "pageDown" | "pageUp" | "first" | "last" | "left" | "right"} Move */

/** @type {Readonly<Record<string, Move | undefined>>} */
const MOVES = {
  ArrowDown: "next",
  ArrowUp: "previous",
  PageDown: "pageDown",
  PageUp: "pageUp",
  Home: "first",
  End: "last",
};
/** @type {Readonly<Record<string, Move | undefined>>} */
const GRID_MOVES = { ArrowLeft: "left", ArrowRight: "right" };

/**
 * Returns a key's move, or null.
 * @param {string} key
 * @param {boolean} isGrid whether left and right move too
 * @returns {Move | null}
 */
export function readMove(key, isGrid) {
  return MOVES[key] ?? (isGrid ? GRID_MOVES[key] : undefined) ?? null;
}

/**
 * Returns the index that a move leads to, or -1 in an empty list.
 * @param {Move} to
 * @param {{ current: number, count: number, columns: number, page: number }} list `current` is -1 without a current
 *   entry; `page` counts the entries on a screen
 */
export function findIndex(to, { current, count, columns, page }) {
  const last = count - 1;
  // Without a current entry any step leads to the beginning.
  if (current < 0 && to !== "last") return Math.min(0, last);
  const index = {
    next: current + columns,
    previous: current - columns,
    pageDown: current + page,
    pageUp: current - page,
    first: 0,
    last,
    left: current - 1,
    right: current + 1,
  }[to];
  // In a grid a step past the first or the last line has no effect.
  if (columns > 1 && (to === "next" || to === "previous") && (index < 0 || index > last)) return current;
  return Math.max(0, Math.min(index, last));
}
