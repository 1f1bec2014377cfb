// @ts-check
// Actions that keys have on the page.

import { readMove } from "../../../../web/browser/list_keys.js";

/**
 * @typedef {"open" | "toggle" | "up" | "clear" | "all" | "search" | "help" | "menu" | "rename" | "remove" | "newFolder"
 *   | "upload"} Action
 * @typedef {{ to: import("../../../../web/browser/list_keys.js").Move, extends: boolean }} Move
 * @typedef {{ key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean, shiftKey: boolean }} Key
 * @typedef {{ isWritable: boolean, hasLetters: boolean, hasTiles: boolean }} Mode `hasLetters`: whether single
 *   characters are shortcuts
 */

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
  const to = readMove(key.key, hasTiles);
  if (to !== null) return { to, extends: key.shiftKey };
  return ACTIONS[key.key] ?? (isWritable ? CHANGES[key.key] : undefined) ??
    (hasLetters ? LETTERS[key.key] ?? (isWritable ? CHANGE_LETTERS[key.key] : undefined) : undefined) ?? null;
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
