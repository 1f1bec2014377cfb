// @ts-check
// What the page says of the list in one line.

import { formatCount, formatSize } from "../../../../web/browser/format.js";

/**
 * How many entries there are, are shown, or are selected, and their size.
 * @param {Pick<import("./folder_state.js").FolderState, "entries" | "shown" | "chosen">} state
 */
export function describeList({ entries, shown, chosen }) {
  const bytes = (chosen.length > 0 ? chosen : shown).reduce((sum, entry) => sum + entry.size, 0);
  const count = chosen.length > 0
    ? `${formatCount(chosen.length, "item")} selected`
    : shown.length === entries.length
    ? formatCount(entries.length, "item")
    : `${shown.length.toLocaleString()} of ${formatCount(entries.length, "item")}`;
  return bytes > 0 ? `${count} · ${formatSize(bytes)}` : count;
}
