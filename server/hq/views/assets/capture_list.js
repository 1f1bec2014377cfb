// @ts-check
import { h } from "../../../../web/browser/dom.js";
import { formatSize } from "../../../../web/browser/format.js";
import { methodClass } from "../../../../web/viewer/text.js";
import { shownPath } from "./capture_text.js";
import { findIndex, readMove } from "../../../../web/browser/list_keys.js";
import { findScrollTop, findVisible } from "../../../../web/browser/virtual_list.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */

/** As in the stylesheet. */
const ROW_HEIGHT = 56;

/** Captures, newest first. Only visible rows exist. Arrow keys, Home and End choose a capture. */
export class CaptureList {
  #box;
  #rows = h("div", { class: "capture-rows", role: "presentation" });
  #onChoose;
  #onNearEnd;
  /** @type {Capture[]} */
  #captures = [];
  /** @type {string | null} */
  #chosen = null;
  #isDrawing = false;

  /**
   * @param {HTMLElement} box that scrolls
   * @param {(capture: Capture, isKey: boolean) => void} onChoose isKey for arrow keys, Home and End
   * @param {() => void} onNearEnd the list's end comes into sight
   */
  constructor(box, onChoose, onNearEnd) {
    this.#box = box;
    this.#onChoose = onChoose;
    this.#onNearEnd = onNearEnd;
    box.append(this.#rows);
    box.addEventListener("scroll", () => this.#drawSoon(), { passive: true });
    box.addEventListener("click", (event) => this.#onClick(event));
    box.addEventListener("keydown", (event) => this.#onKey(event));
    new ResizeObserver(() => this.#drawSoon()).observe(box);
  }

  /** @param {Capture[]} captures */
  show(captures) {
    this.#captures = captures;
    this.#drawSoon();
  }

  /**
   * Adds newer captures at the top without moving the visible rows.
   * @param {Capture[]} captures
   */
  prepend(captures) {
    const isAtTop = this.#box.scrollTop < ROW_HEIGHT / 2;
    this.#captures.unshift(...captures);
    this.#resize();
    if (!isAtTop) this.#box.scrollTop += captures.length * ROW_HEIGHT;
    this.#drawSoon();
  }

  /** @param {string | null} id */
  choose(id) {
    this.#chosen = id;
    this.#drawSoon();
  }

  get #viewport() {
    return { scrollTop: this.#box.scrollTop, height: this.#box.clientHeight, rowHeight: ROW_HEIGHT };
  }

  #resize() {
    this.#rows.style.height = `${this.#captures.length * ROW_HEIGHT}px`;
  }

  /** Draws once a frame at most. */
  #drawSoon() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#draw();
    });
  }

  #draw() {
    this.#resize();
    const count = this.#captures.length;
    const { first, end } = findVisible(this.#viewport, { count });
    const rows = this.#captures.slice(first, end).map((capture, at) => this.#createRow(capture, first + at));
    this.#rows.replaceChildren(...rows);
    const isThere = rows.some(({ id }) => id === `capture-${this.#chosen}`);
    if (isThere) this.#box.setAttribute("aria-activedescendant", `capture-${this.#chosen}`);
    else this.#box.removeAttribute("aria-activedescendant");
    if (end === count) this.#onNearEnd();
  }

  /**
   * @param {Capture} capture
   * @param {number} at
   */
  #createRow(capture, at) {
    const row = h("div", {
      class: "capture-row",
      id: `capture-${capture.id}`,
      role: "option",
      "aria-selected": String(capture.id === this.#chosen),
      "aria-setsize": String(this.#captures.length),
      "aria-posinset": String(at + 1),
    }, [
      h("span", { class: `method ${methodClass(capture.method)}` }, [capture.method]),
      h("span", { class: "target" }, [shownPath(capture)]),
      h("time", { datetime: capture.receivedAt }, [new Date(capture.receivedAt).toLocaleTimeString()]),
      h("span", { class: "about" }, [
        [capture.bodySize === 0 ? "no body" : formatSize(capture.bodySize), capture.contentType ?? ""]
          .filter((word) => word !== "").join(" · "),
      ]),
    ]);
    row.style.transform = `translateY(${at * ROW_HEIGHT}px)`;
    return row;
  }

  /** @param {MouseEvent} event */
  #onClick(event) {
    const row = event.target instanceof Element ? event.target.closest(".capture-row") : null;
    const capture = this.#captures.find(({ id }) => row?.id === `capture-${id}`);
    if (capture !== undefined) this.#onChoose(capture, false);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const move = readMove(event.key, false);
    if (move === null || this.#captures.length === 0) return;
    const { height, rowHeight } = this.#viewport;
    const next = findIndex(move, {
      current: this.#captures.findIndex(({ id }) => id === this.#chosen),
      count: this.#captures.length,
      columns: 1,
      page: Math.max(1, Math.floor(height / rowHeight) - 1),
    });
    event.preventDefault();
    this.#box.scrollTop = findScrollTop(next, this.#viewport);
    this.#onChoose(this.#captures[next], true);
  }
}
