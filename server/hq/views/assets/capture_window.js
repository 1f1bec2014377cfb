// @ts-check

/** Rows beyond the visible ones, so that a quick scroll shows no gap. */
const MARGIN = 8;

/**
 * The rows of a long list that have to be there now: from `first` to `end`, which is not one of them.
 * @param {number} scrollTop
 * @param {number} height of what is visible
 * @param {number} rowHeight
 * @param {number} count of all rows
 */
export function visibleRows(scrollTop, height, rowHeight, count) {
  const first = Math.max(0, Math.min(count, Math.floor(scrollTop / rowHeight)) - MARGIN);
  return { first, end: Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + MARGIN) };
}
