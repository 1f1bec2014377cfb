// @ts-check
// What the keys do on the page.

/**
 * @typedef {"open" | "toggle" | "up" | "clear" | "all" | "search" | "help" | "menu" | "rename" | "remove" | "newFolder"
 *   | "upload"} Action
 * @typedef {{ to: "next" | "previous" | "pageDown" | "pageUp" | "first" | "last" | "left" | "right", extends: boolean }} Move
 * @typedef {{ key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean, shiftKey: boolean }} Key
 * @typedef {{ isWritable: boolean, hasLetters: boolean, hasTiles: boolean }} Mode `hasLetters`: whether single
 *   characters are shortcuts
 */

/** @type {Readonly<Record<string, Move["to"]>>} */
const MOVES = {
  ArrowDown: "next",
  ArrowUp: "previous",
  PageDown: "pageDown",
  PageUp: "pageUp",
  Home: "first",
  End: "last",
};
/** @type {Readonly<Record<string, Move["to"]>>} */
const TILE_MOVES = { ArrowLeft: "left", ArrowRight: "right" };
/** @type {Readonly<Record<string, Action>>} */
const ACTIONS = { Enter: "open", " ": "toggle", Backspace: "up", Escape: "clear", ContextMenu: "menu" };
/** @type {Readonly<Record<string, Action>>} */
const CHANGES = { F2: "rename", Delete: "remove" };
/** @type {Readonly<Record<string, Action>>} */
const LETTERS = { "/": "search", "?": "help" };
/** @type {Readonly<Record<string, Action>>} */
const CHANGE_LETTERS = { n: "newFolder", u: "upload" };

/**
 * What a key that is pressed in the list is for; null when it is none of ours.
 * @param {Key} key
 * @param {Mode} mode
 * @returns {Action | Move | null}
 */
export function readKey(key, { isWritable, hasLetters, hasTiles }) {
  if (key.ctrlKey || key.metaKey || key.altKey) {
    return key.key.toLowerCase() === "a" && !key.altKey && !key.shiftKey ? "all" : null;
  }
  if (key.shiftKey && key.key === "F10") return "menu";
  const to = MOVES[key.key] ?? (hasTiles ? TILE_MOVES[key.key] : undefined);
  if (to !== undefined) return { to, extends: key.shiftKey };
  return ACTIONS[key.key] ?? (isWritable ? CHANGES[key.key] : undefined) ??
    (hasLetters ? LETTERS[key.key] ?? (isWritable ? CHANGE_LETTERS[key.key] : undefined) : undefined) ?? null;
}

/**
 * Index that a move leads to.
 * @param {Move["to"]} to
 * @param {{ current: number, count: number, columns: number, page: number }} place `page`: entries on a screen
 */
export function findIndex(to, { current, count, columns, page }) {
  const last = count - 1;
  // Nothing was pointed at yet: any step leads to the beginning.
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
  // In tiles a step below the last line or above the first one stays where it is.
  if (columns > 1 && (to === "next" || to === "previous") && (index < 0 || index > last)) return current;
  return Math.max(0, Math.min(index, last));
}

const KEPT_AS = "portway-letters";

/** Whether single characters are shortcuts. They can be switched off: who speaks to the page types many of them. */
export function hasLetters() {
  return localStorage.getItem(KEPT_AS) !== "off";
}

/** @param {boolean} isOn */
export function setLetters(isOn) {
  if (isOn) localStorage.removeItem(KEPT_AS);
  else localStorage.setItem(KEPT_AS, "off");
}
