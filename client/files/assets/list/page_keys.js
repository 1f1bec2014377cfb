// @ts-check
// Keys that are pressed on the page, wherever the focus is.

import { getTarget } from "../../../../web/browser/dom.js";
import { findIndex } from "../../../../web/browser/list_keys.js";
import { hasLetters, readKey } from "./keys.js";

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 *
 * @typedef {object} KeyedPage
 * @property {import("./folder_state.js").FolderState} state
 * @property {import("./list_view.js").ListView} list
 * @property {HTMLInputElement} field
 * @property {boolean} isWritable
 * @property {Readonly<Record<import("./keys.js").Action, (current: Entry | undefined, isFocused: boolean) => void>>} actions
 *   take the current entry, and whether the focus is inside its row
 */

/** @param {KeyedPage} page */
export function installKeys(page) {
  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") !== null) return;
    if (getTarget(event) === page.field) onFieldKey(event, page);
    else onListKey(event, page);
  });
}

/**
 * @param {KeyboardEvent} event
 * @param {KeyedPage} page
 */
function onListKey(event, { state, list, isWritable, actions }) {
  const target = getTarget(event);
  if (target.closest("input:not([type=checkbox]), textarea, select, .uploads")) return;
  // A button, a link or a box that has the focus is pressed with these.
  if (["Enter", " "].includes(event.key) && target.closest("button, a, input")) return;
  const read = readKey(event, { isWritable, hasLetters: hasLetters(), hasTiles: list.layout === "tiles" });
  if (read === null) return;
  event.preventDefault();
  const focused = list.findEntry(target);
  // The row with the focus is the one that the user sees marked, whichever row the arrow keys reached last.
  if (focused !== null) state.moveTo(state.shown.indexOf(focused));
  if (typeof read === "string") return actions[read](state.shown[state.current], focused !== null);
  const place = { current: state.current, count: state.shown.length, columns: list.columns, page: list.pageSize };
  const index = findIndex(read.to, place);
  if (index < 0) return;
  if (read.extends) state.extendTo(index);
  else state.goTo(index);
  list.reveal(index);
  list.focus();
}

/**
 * @param {KeyboardEvent} event
 * @param {KeyedPage} page
 */
function onFieldKey(event, { state, list, field }) {
  if (event.key === "ArrowDown") {
    event.preventDefault();
    list.focus();
    if (state.current < 0) state.goTo(0);
  } else if (event.key === "Escape") {
    field.value = "";
    field.dispatchEvent(new Event("input"));
    list.focus();
  }
}
