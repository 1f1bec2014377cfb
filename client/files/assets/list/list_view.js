// @ts-check
// The list of a folder, as lines or as tiles. Only what can be seen exists, so 10,000 entries are as quick as ten.

import { getTarget, h } from "../../../../web/browser/dom.js";
import { findScrollTop, findVisible } from "../../../../web/browser/virtual_list.js";
import { createHeads } from "./list_heads.js";
import { createRow, fillRow } from "./list_row.js";

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 * @typedef {import("./folder_state.js").FolderState} FolderState
 * @typedef {"lines" | "tiles"} Layout
 * @typedef {{ x: number, y: number }} Point
 * @typedef {import("./list_row.js").Row} Row
 */

/** Lines above and below the visible part that exist too, so that scrolling shows no gaps. */
const SPARE = 12;
/** Pixels that a tile is wide at least. */
const TILE_WIDTH = 164;

/**
 * What the list asks the page for.
 * @typedef {object} ListActions
 * @property {(entry: Entry) => void} open
 * @property {(entry: Entry, at: HTMLElement | Point) => void} menu
 * @property {(entry: Entry) => string} toHref
 */

/** The list of what a state shows. */
export class ListView {
  /** @type {Layout} */
  layout = "lines";
  #state;
  #actions;
  #spacer = h("div", { class: "spacer", role: "none" });
  #rows = h("div", { class: "rows", role: "rowgroup" });
  #empty = h("div", { class: "empty", hidden: true });
  #heads;
  /** @type {HTMLElement} */
  #scroller;
  /** @type {Map<string, Row>} */
  #made = new Map();
  /** Pixels at the bottom that something else on the page covers. */
  #covered = 0;

  /**
   * @param {FolderState} state
   * @param {ListActions} actions
   */
  constructor(state, actions) {
    this.#state = state;
    this.#actions = actions;
    this.#heads = createHeads(state);
    this.#scroller = h(
      "div",
      {
        class: "scroller",
        id: "list",
        tabIndex: 0,
        role: "grid",
        "aria-multiselectable": "true",
        "aria-label": "Files and folders",
        "aria-colcount": "5",
      },
      this.#heads.element,
      this.#spacer,
      this.#rows,
    );
    this.element = h("section", { class: "list" }, this.#scroller, this.#empty);
    this.#scroller.addEventListener("scroll", () => this.#render(), { passive: true });
    new ResizeObserver(() => this.#render()).observe(this.#scroller);
    this.#rows.addEventListener("click", (event) => this.#onClick(event));
    this.#rows.addEventListener("contextmenu", (event) => this.#onMenu(event));
  }

  get columns() {
    const width = this.#scroller.clientWidth - 24;
    return this.layout === "tiles" ? Math.max(2, Math.floor(width / TILE_WIDTH)) : 1;
  }

  /** Entries that a screen shows. */
  get pageSize() {
    const lines = Math.floor((this.#scroller.clientHeight - this.#headHeight) / this.#lineHeight) - 1;
    return Math.max(1, lines) * this.columns;
  }

  get #lineHeight() {
    return Number.parseFloat(getComputedStyle(this.#scroller).getPropertyValue("--line-height")) || 46;
  }

  get #headHeight() {
    return this.#heads.element.offsetHeight;
  }

  /** @param {Layout} layout */
  setLayout(layout) {
    this.layout = layout;
    this.element.classList.toggle("tiles", layout === "tiles");
    this.#made.clear();
    this.#render();
  }

  /** @param {number} pixels at the bottom that something covers: the last entry can be scrolled out from behind it */
  setCovered(pixels) {
    if (pixels === this.#covered) return;
    this.#covered = pixels;
    this.#render();
  }

  /**
   * Shows what the state holds now.
   * @param {readonly HTMLElement[]} message stands in for an empty list
   */
  update(message) {
    const isEmpty = this.#state.shown.length === 0;
    this.#heads.update();
    this.#empty.replaceChildren(...(isEmpty ? message : []));
    this.#empty.hidden = !isEmpty;
    this.#scroller.hidden = isEmpty;
    this.#render();
  }

  /** @param {number} index of an entry to scroll to */
  reveal(index) {
    const { scrollTop, clientHeight } = this.#scroller;
    const viewport = {
      scrollTop,
      height: clientHeight - this.#headHeight - this.#covered,
      rowHeight: this.#lineHeight,
    };
    this.#scroller.scrollTop = findScrollTop(index, viewport, this.columns);
  }

  focus() {
    this.#scroller.focus({ preventScroll: true });
  }

  scrollToTop() {
    this.#scroller.scrollTop = 0;
  }

  /**
   * The row of an entry while it can be seen, for a menu to stand beside.
   * @param {string} name
   */
  findButton(name) {
    return this.#made.get(name)?.more ?? null;
  }

  /**
   * The entry that an element of the list belongs to.
   * @param {Element} element
   */
  findEntry(element) {
    const row = element.closest(".row");
    return row instanceof HTMLElement ? this.#state.shown[Number(row.dataset.index)] ?? null : null;
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const target = getTarget(event);
    const entry = this.findEntry(target);
    if (entry === null) return;
    const index = this.#state.shown.indexOf(entry);
    const more = target.closest("button.more");
    if (more instanceof HTMLElement) return this.#actions.menu(entry, more);
    if (target.closest(".c-box")) {
      if (event.shiftKey) this.#state.extendTo(index);
      else this.#state.toggle(index);
      return;
    }
    if (event.ctrlKey || event.metaKey) {
      // On a link this would open a tab; on the rest of the row it selects.
      if (!target.closest("a")) this.#state.toggle(index);
      return;
    }
    event.preventDefault();
    if (event.shiftKey) return this.#state.extendTo(index);
    this.#state.goTo(index);
    this.#actions.open(entry);
  }

  /** @param {MouseEvent} event */
  #onMenu(event) {
    const entry = this.findEntry(getTarget(event));
    // With Shift the browser's own menu can still be had.
    if (entry === null || event.shiftKey) return;
    event.preventDefault();
    this.#state.goTo(this.#state.shown.indexOf(entry));
    // The press gave the focus to a link of the row; the list is where the keys are.
    this.focus();
    this.#actions.menu(entry, { x: event.clientX, y: event.clientY });
  }

  #render() {
    const { shown, current } = this.#state;
    const [rowHeight, columns] = [this.#lineHeight, this.columns];
    const { scrollTop, clientHeight: height } = this.#scroller;
    const list = { count: shown.length, columns, spare: SPARE };
    const { first, end: last, firstLine, lines } = findVisible({ scrollTop, height, rowHeight }, list);
    this.#spacer.style.height = `${lines * rowHeight + this.#covered}px`;
    this.#rows.style.top = `${this.#headHeight + firstLine * rowHeight}px`;
    this.#rows.style.setProperty("--columns-count", String(columns));
    this.#place(first, last);
    this.#scroller.setAttribute("aria-rowcount", String(shown.length + 1));
    if (current >= first && current < last) this.#scroller.setAttribute("aria-activedescendant", `row-${current}`);
    else this.#scroller.removeAttribute("aria-activedescendant");
  }

  /**
   * Makes the rows from `first` to `last` be there: those that are already stay the elements that they are, so that a
   * press of a button or a menu on one outlives a newer listing.
   * @param {number} first
   * @param {number} last
   */
  #place(first, last) {
    const { shown, selected, current } = this.#state;
    const names = new Set(shown.slice(first, last).map(({ name }) => name));
    for (const [name, row] of this.#made) {
      if (names.has(name)) continue;
      row.root.remove();
      this.#made.delete(name);
    }
    for (let index = first; index < last; index++) {
      const entry = shown[index];
      let row = this.#made.get(entry.name);
      if (row === undefined || row.entry.kind !== entry.kind) {
        row?.root.remove();
        row = createRow(entry, this.layout === "tiles" ? this.#actions.toHref(entry) : null);
        this.#made.set(entry.name, row);
      }
      fillRow(row, entry, {
        index,
        href: this.#actions.toHref(entry),
        isSelected: selected.has(entry.name),
        isCurrent: current === index,
      });
      const at = this.#rows.children[index - first];
      if (at !== row.root) this.#rows.insertBefore(row.root, at ?? null);
    }
    while (this.#rows.children.length > last - first) this.#rows.lastElementChild?.remove();
  }
}
