// @ts-check
// Arithmetic for lists that contain only the rows near the visible part, so that 10,000 entries are as quick as ten.

/**
 * A list's visible part, in pixels.
 * @typedef {object} Viewport
 * @property {number} scrollTop
 * @property {number} height the visible height
 * @property {number} rowHeight
 */

/**
 * Returns the entries that must exist now: from `first` to `end`, without `end`.
 * @param {Viewport} viewport
 * @param {object} list
 * @param {number} list.count all entries
 * @param {number} [list.columns] entries in a line
 * @param {number} [list.spare] lines above and below the visible ones, so that quick scrolling shows no gap
 */
export function findVisible({ scrollTop, height, rowHeight }, { count, columns = 1, spare = 8 }) {
  const lines = Math.ceil(count / columns);
  const firstLine = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight), lines) - spare);
  const end = Math.min(count, (Math.ceil((scrollTop + height) / rowHeight) + spare) * columns);
  return { first: firstLine * columns, end, firstLine, lines };
}

/**
 * Returns the scroll position at which an entry is visible: the present one when it is already.
 * @param {number} index the entry's index
 * @param {Viewport} viewport
 * @param {number} [columns]
 */
export function findScrollTop(index, { scrollTop, height, rowHeight }, columns = 1) {
  const top = Math.floor(index / columns) * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + height ? top + rowHeight - height : scrollTop;
}
