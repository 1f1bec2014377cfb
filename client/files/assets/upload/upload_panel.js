// @ts-check
// The panel that shows how uploads go. Rows are made once and then only filled: a button that is being pressed or has
// the focus stays the same button.

import { h, icon, iconButton, setText } from "../../../../web/browser/dom.js";
import { formatName, splitName } from "../../../../web/browser/format.js";
import { countItems, describeItem, describeProgress, measure, nameState, pickRows, Speed } from "./upload_figures.js";

/**
 * @typedef {import("./upload_queue.js").UploadItem} UploadItem
 * @typedef {import("./upload_queue.js").UploadQueue} UploadQueue
 * @typedef {import("./upload_queue.js").State} State
 * @typedef {import("./upload_figures.js").Counts} Counts
 * @typedef {{ root: HTMLLIElement, words: HTMLElement, fill: HTMLElement, ok: Element,
 *   buttons: Readonly<Record<"choose" | "pause" | "resume" | "retry" | "cancel", HTMLButtonElement>> }} Row
 */

/** @type {readonly State[]} */
const ENDED = ["done", "skipped", "failed"];
/** Buttons that an item has in a state. */
/** @type {Readonly<Partial<Record<State, readonly (keyof Row["buttons"])[]>>>} */
const BUTTONS = {
  waiting: ["pause", "cancel"],
  sending: ["pause", "cancel"],
  retrying: ["pause", "cancel"],
  asking: ["cancel"],
  paused: ["resume", "cancel"],
  failed: ["retry", "cancel"],
  skipped: ["cancel"],
  lost: ["choose", "cancel"],
};

/** The panel of a queue. */
export class UploadPanel {
  #queue;
  #choose;
  #title = h("strong", { "aria-live": "polite" });
  #detail = h("span", { class: "detail" });
  #fill = h("i", {});
  #bar = h("div", {
    class: "bar",
    role: "progressbar",
    "aria-label": "All uploads",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
  }, this.#fill);
  #list = h("ul", {});
  #tools;
  /** @type {Map<UploadItem, Row>} */
  #rows = new Map();
  #speed = new Speed();
  #isDue = false;

  /**
   * @param {UploadQueue} queue
   * @param {(item: UploadItem) => void} choose asks for the file of an upload of an earlier visit
   */
  constructor(queue, choose) {
    this.#queue = queue;
    this.#choose = choose;
    this.#tools = {
      pause: iconButton("pause", "Pause all", () => queue.pauseAll()),
      resume: iconButton("play", "Resume all", () => queue.resumeAll()),
      retry: iconButton("retry", "Try all again", () => queue.retryAll()),
      clear: iconButton("trash", "Clear what failed", () => queue.clear(["failed"])),
      fold: iconButton("fold", "Fold", () => this.#fold(true)),
      unfold: iconButton("unfold", "Unfold", () => this.#fold(false)),
      close: iconButton("close", "Close", () => {
        queue.clear(ENDED);
        queue.dismissLost();
      }),
    };
    this.element = h(
      "aside",
      { class: "uploads", "aria-label": "Uploads", hidden: true },
      h("header", {}, h("div", { class: "words" }, this.#title, this.#detail), ...Object.values(this.#tools)),
      this.#bar,
      this.#list,
    );
  }

  /** May be called as often as anything changes. */
  update() {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => {
      this.#isDue = false;
      this.#render();
    }, 100);
  }

  /** @param {boolean} isFolded */
  #fold(isFolded) {
    this.#list.hidden = isFolded;
    this.#render();
    (isFolded ? this.#tools.unfold : this.#tools.fold).focus();
  }

  #render() {
    const items = [...this.#queue.items];
    this.element.hidden = items.length === 0;
    if (items.length === 0) this.#list.hidden = false;
    const counts = countItems(items);
    const progress = measure(items);
    if (!counts.sending) this.#speed.reset();
    setText(this.#title, nameState(counts));
    setText(this.#detail, describeProgress(counts, progress, this.#speed.measure(progress.sent)));
    this.#fill.style.width = `${100 * progress.share}%`;
    this.#bar.setAttribute("aria-valuenow", String(Math.round(100 * progress.share)));
    this.element.classList.toggle("finished", counts.open === 0 && !counts.failed && !counts.lost);
    this.element.classList.toggle("broken", counts.open === 0 && counts.failed > 0);
    this.#showTools(counts);
    this.#place(items);
    if (counts.sending) this.update();
  }

  /** @param {Counts} counts */
  #showTools({ moving, paused, failed, open }) {
    const isFolded = this.#list.hidden !== false;
    const shown = {
      pause: moving > 0,
      resume: moving === 0 && paused > 0,
      retry: failed > 0,
      clear: failed > 0,
      fold: open > 0 && !isFolded,
      unfold: open > 0 && isFolded,
      close: open === 0,
    };
    /** @type {(keyof typeof shown)[]} */
    const names = ["pause", "resume", "retry", "clear", "fold", "unfold", "close"];
    showButtons(names.map((name) => /** @type {const} */ ([this.#tools[name], shown[name]])));
  }

  /**
   * Makes the rows be those of the items that matter most. While the pointer or the focus is on them they keep their
   * places: what is about to be pressed must not move away.
   * @param {readonly UploadItem[]} items
   */
  #place(items) {
    const isHeld = this.#list.matches(":hover, :focus-within");
    const picked = pickRows(items);
    const wanted = new Set(picked);
    for (const [item, row] of this.#rows) {
      if (this.#queue.items.has(item) && (isHeld || wanted.has(item))) continue;
      this.#remove(item, row);
    }
    for (const [index, item] of picked.entries()) {
      let row = this.#rows.get(item);
      const isNew = row === undefined;
      if (row === undefined) this.#rows.set(item, row = this.#createRow(item));
      if (isHeld && isNew) this.#list.append(row.root);
      else if (!isHeld && this.#list.children[index] !== row.root) {
        this.#list.insertBefore(row.root, this.#list.children[index] ?? null);
      }
    }
    for (const [item, row] of this.#rows) fillRow(row, item);
  }

  /**
   * @param {UploadItem} item
   * @param {Row} row
   */
  #remove(item, row) {
    if (row.root.contains(document.activeElement)) {
      const next = row.root.nextElementSibling ?? row.root.previousElementSibling;
      const button = next?.querySelector("button:not([hidden])") ??
        this.element.querySelector("header button:not([hidden])");
      if (button instanceof HTMLElement) button.focus();
    }
    row.root.remove();
    this.#rows.delete(item);
  }

  /**
   * @param {UploadItem} item
   * @returns {Row}
   */
  #createRow(item) {
    const name = formatName(item.names.at(-1) ?? "");
    const [start, end] = splitName(name);
    const buttons = {
      choose: iconButton("file", `Choose ${name} again`, () => this.#choose(item), {
        text: "Choose file",
        className: "button",
      }),
      pause: iconButton("pause", `Pause ${name}`, () => this.#queue.pause(item)),
      resume: iconButton("play", `Resume ${name}`, () => this.#queue.resume(item)),
      retry: iconButton("retry", `Try ${name} again`, () => this.#queue.resume(item)),
      cancel: iconButton("close", `Cancel ${name}`, () => this.#queue.cancel(item)),
    };
    const words = h("span", {});
    const fill = h("i", {});
    const ok = icon("check", "ok");
    const root = h(
      "li",
      {},
      h(
        "div",
        { class: "words" },
        h(
          "b",
          { title: formatName(item.names.join("/")) },
          ...(end === "" ? [start] : [h("span", { class: "start" }, start), h("span", { class: "end" }, end)]),
        ),
        words,
      ),
      ok,
      ...Object.values(buttons),
      h("div", { class: "bar" }, fill),
    );
    return { root, words, fill, ok, buttons };
  }
}

/**
 * @param {Row} row
 * @param {UploadItem} item
 */
function fillRow({ root, words, fill, ok, buttons }, item) {
  if (root.className !== item.state) root.className = item.state;
  const share = item.state === "done" || item.size === 0 ? 100 : (100 * item.sent) / (item.size ?? Infinity);
  setText(words, describeItem(item));
  fill.style.width = `${share}%`;
  ok.classList.toggle("hidden", item.state !== "done");
  const shown = BUTTONS[item.state] ?? [];
  /** @type {(keyof Row["buttons"])[]} */
  const names = ["choose", "pause", "resume", "retry", "cancel"];
  showButtons(names.map((name) => /** @type {const} */ ([buttons[name], shown.includes(name)])));
}

/**
 * Shows some of the buttons that stand beside each other. The focus goes on to the one that takes the place of its own.
 * @param {readonly (readonly [HTMLButtonElement, boolean])[]} buttons
 */
function showButtons(buttons) {
  const hadFocus = buttons.some(([button, isShown]) => !isShown && button === document.activeElement);
  for (const [button, isShown] of buttons) button.hidden = !isShown;
  if (hadFocus) buttons.find(([, isShown]) => isShown)?.[0].focus();
}
