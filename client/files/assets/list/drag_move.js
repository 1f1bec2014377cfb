// @ts-check
// Entries of the list dragged onto a folder, in the list or on the way to it.

import { getTarget } from "../../../../web/browser/dom.js";

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 * @typedef {import("../parts/api.js").Names} Names
 */

/** Marks a drag as one of ours; files from outside are uploads. */
const OURS = "application/x-portway-entries";

/**
 * @typedef {object} DragPage
 * @property {HTMLElement} list
 * @property {(element: Element) => Entry | null} findEntry
 * @property {(entry: Entry) => readonly Entry[]} take what goes along when an entry is dragged
 * @property {(entry: Entry) => string} toHref
 * @property {(element: Element) => Names | null} findFolder the folder that an element stands for
 * @property {(moved: readonly Entry[], target: Names) => void} move
 * @property {boolean} isWritable
 */

/** Lets entries of a page be dragged. */
export class DragMove {
  #page;
  /** @type {readonly Entry[]} */
  #dragged = [];
  /** @type {Element | null} */
  #marked = null;

  /** @param {DragPage} page */
  constructor(page) {
    this.#page = page;
    page.list.addEventListener("dragstart", (event) => this.#start(event));
    addEventListener("dragend", () => {
      this.#dragged = [];
      this.#mark(null);
    });
    addEventListener("dragover", (event) => this.#hover(event));
    addEventListener("drop", (event) => {
      const target = this.#findTarget(event);
      if (target === null) return;
      event.preventDefault();
      page.move(this.#dragged, target.names);
    });
  }

  /** @param {DragEvent} event */
  #start(event) {
    const { findEntry, take, toHref, isWritable } = this.#page;
    const entry = findEntry(getTarget(event));
    if (entry === null || event.dataTransfer === null) return;
    this.#dragged = take(entry);
    if (isWritable) event.dataTransfer.setData(OURS, "");
    event.dataTransfer.effectAllowed = isWritable ? "copyMove" : "copy";
    const url = new URL(toHref(entry), location.href).href;
    event.dataTransfer.setData("text/uri-list", url);
    event.dataTransfer.setData("text/plain", url);
    // Chromium saves a file that is dragged out of the window.
    const name = entry.name.slice(entry.name.lastIndexOf("/") + 1).replaceAll(":", "_");
    if (entry.kind === "file") event.dataTransfer.setData("DownloadURL", `application/octet-stream:${name}:${url}`);
  }

  /** @param {DragEvent} event */
  #hover(event) {
    const target = this.#findTarget(event);
    this.#mark(target?.element ?? null);
    if (target === null) return;
    event.preventDefault();
    if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "move";
  }

  /** @param {DragEvent} event */
  #findTarget(event) {
    if (this.#dragged.length === 0 || !event.dataTransfer?.types.includes(OURS)) return null;
    const element = getTarget(event).closest(".row, .crumbs a");
    const names = element === null ? null : this.#page.findFolder(element);
    const entry = element === null ? null : this.#page.findEntry(element);
    return element === null || names === null || (entry !== null && this.#dragged.includes(entry))
      ? null
      : { element, names };
  }

  /** @param {Element | null} element */
  #mark(element) {
    this.#marked?.classList.remove("target");
    this.#marked = element;
    this.#marked?.classList.add("target");
  }
}
