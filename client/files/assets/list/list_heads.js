// @ts-check
// The heads of the list: what it is ordered by, and the box that selects all.

import { h } from "../../../../web/browser/dom.js";

/**
 * @typedef {import("./folder_state.js").FolderState} FolderState
 * @typedef {import("./folder_state.js").SortKey} SortKey
 */

/** @type {readonly (readonly [SortKey, string])[]} */
const HEADS = [["name", "Name"], ["size", "Size"], ["modified", "Changed"]];

/** @param {FolderState} state */
export function createHeads(state) {
  const all = h("input", { type: "checkbox", class: "box", "aria-label": "Select all" });
  all.addEventListener("click", () => state.extent === "all" ? state.clearSelection() : state.selectAll());
  const cells = HEADS.map(([key, label]) =>
    h(
      "div",
      { class: `col ${key}`, role: "columnheader" },
      h("button", { type: "button", title: `Sort by ${label.toLowerCase()}`, onclick: () => state.sortBy(key) }, label),
    )
  );
  const update = () => {
    HEADS.forEach(([key], index) => {
      const order = state.sort.key !== key ? "none" : state.sort.down ? "descending" : "ascending";
      cells[index].setAttribute("aria-sort", order);
    });
    all.checked = state.extent === "all";
    all.indeterminate = state.extent === "some";
  };
  const element = h(
    "div",
    { class: "heads", role: "row", "aria-rowindex": "1" },
    h("div", { class: "c-box", role: "columnheader" }, all),
    ...cells,
    h("div", { class: "c-more", role: "columnheader" }, h("span", { class: "unseen" }, "Actions")),
  );
  return { element, update };
}
