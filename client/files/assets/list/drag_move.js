// @ts-check
// Entries of the list dragged onto a folder, in the list or on the way to it.

import { getTarget } from "../parts/dom.js";

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 * @typedef {import("../parts/api.js").Names} Names
 */

/** Marks a drag as one of ours; files from outside are uploads. */
const OURS = "application/x-portway-entries";

/**
 * Lets entries be dragged.
 * @param {object} page
 * @param {HTMLElement} page.list
 * @param {(element: Element) => Entry | null} page.findEntry
 * @param {(entry: Entry) => readonly Entry[]} page.take what goes along when an entry is dragged
 * @param {(entry: Entry) => string} page.toHref
 * @param {(element: Element) => Names | null} page.findFolder the folder that an element stands for
 * @param {(moved: readonly Entry[], target: Names) => void} page.move
 * @param {boolean} page.isWritable
 */
export function installDragMove({ list, findEntry, take, toHref, findFolder, move, isWritable }) {
  /** @type {readonly Entry[]} */
  let dragged = [];
  /** @type {Element | null} */
  let marked = null;

  /** @param {Element | null} element */
  function mark(element) {
    marked?.classList.remove("target");
    marked = element;
    marked?.classList.add("target");
  }

  /** @param {DragEvent} event */
  function findTarget(event) {
    if (dragged.length === 0 || !event.dataTransfer?.types.includes(OURS)) return null;
    const element = getTarget(event).closest(".row, .crumbs a");
    const names = element === null ? null : findFolder(element);
    const entry = element === null ? null : findEntry(element);
    return element === null || names === null || (entry !== null && dragged.includes(entry))
      ? null
      : { element, names };
  }

  list.addEventListener("dragstart", (event) => {
    const entry = findEntry(getTarget(event));
    if (entry === null || event.dataTransfer === null) return;
    dragged = take(entry);
    if (isWritable) event.dataTransfer.setData(OURS, "");
    event.dataTransfer.effectAllowed = isWritable ? "copyMove" : "copy";
    const url = new URL(toHref(entry), location.href).href;
    event.dataTransfer.setData("text/uri-list", url);
    event.dataTransfer.setData("text/plain", url);
    // Chromium saves a file that is dragged out of the window.
    const name = entry.name.slice(entry.name.lastIndexOf("/") + 1).replaceAll(":", "_");
    if (entry.kind === "file") event.dataTransfer.setData("DownloadURL", `application/octet-stream:${name}:${url}`);
  });
  addEventListener("dragend", () => {
    dragged = [];
    mark(null);
  });
  addEventListener("dragover", (event) => {
    const target = findTarget(event);
    mark(target?.element ?? null);
    if (target === null) return;
    event.preventDefault();
    if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "move";
  });
  addEventListener("drop", (event) => {
    const target = findTarget(event);
    if (target === null) return;
    event.preventDefault();
    move(dragged, target.names);
  });
}
