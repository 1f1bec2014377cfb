// @ts-check
// Files shown without leaving the page.

import { ApiError, isAbort, send, tellFailure, toPath } from "../parts/api.js";
import { h, icon, iconButton } from "../../../../web/browser/dom.js";
import { formatFullDate, formatName, formatSize } from "../../../../web/browser/format.js";
import { getIcon, getKind } from "../list/kinds.js";

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 * @typedef {import("../parts/api.js").Names} Names
 *
 * @typedef {object} PreviewActions
 * @property {(direction: number) => void} step shows the next file
 * @property {(entry: Entry) => void} onclose told of the end
 * @property {(target: Names, isFolder: boolean) => void} follow goes to another file or folder of the share
 *
 * What is shown: the file, where it is, and what ends it.
 * @typedef {{ entry: Entry, path: string, signal: AbortSignal, actions: PreviewActions }} Shown
 *
 * `isCut`: there is more of it.
 * @typedef {{ text: string, isBinary: boolean, isCut: boolean }} Text
 */

/** Bytes of text shown; more would be slow and nobody reads it here. */
const MAX_TEXT = 1024 * 1024;

/** The preview. What shows text is loaded when the first text is asked for. */
export class Preview {
  #actions;
  /** @type {HTMLDialogElement | null} */
  #dialog = null;
  /** @type {Entry | null} */
  #entry = null;
  #abort = new AbortController();

  /** @param {PreviewActions} actions */
  constructor(actions) {
    this.#actions = actions;
  }

  /**
   * @param {Names} names
   * @param {Entry} entry
   */
  show(names, entry) {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#entry = entry;
    this.#dialog ??= this.#open();
    const shown = { entry, path: toPath(names, false), signal: this.#abort.signal, actions: this.#actions };
    const body = h("div", { class: "body" });
    const hadFocus = this.#dialog.querySelector("header")?.contains(document.activeElement)
      ? document.activeElement?.getAttribute("aria-label")
      : null;
    this.#dialog.replaceChildren(createHead(shown, () => this.close()), body);
    this.#dialog.setAttribute("aria-label", formatName(entry.name));
    // Whoever goes on with "Next" presses it again.
    const again = [...this.#dialog.querySelectorAll("header button")]
      .find((button) => hadFocus && button.getAttribute("aria-label") === hadFocus);
    if (again instanceof HTMLElement) again.focus();
    fill(body, shown);
  }

  close() {
    this.#dialog?.close();
  }

  #open() {
    const dialog = h("dialog", { class: "preview", tabIndex: -1 });
    dialog.addEventListener("keydown", (event) => this.#onKey(event));
    dialog.addEventListener("close", () => {
      this.#abort.abort();
      dialog.remove();
      this.#dialog = null;
      if (this.#entry !== null) this.#actions.onclose(this.#entry);
    });
    dialog.addEventListener("click", (event) => {
      if (event.target instanceof Element && event.target.classList.contains("body")) dialog.close();
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.focus();
    return dialog;
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const target = event.target instanceof Element ? event.target : null;
    // These keys move in a film, in a field and in what is wider than the screen.
    const isTaken = target?.closest("video, audio, input, .wide") ?? null;
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (step === 0 || isTaken !== null || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#actions.step(step);
  }
}

/**
 * @param {Shown} shown
 * @param {() => void} close
 */
function createHead({ entry, path, actions }, close) {
  const kind = getKind(entry);
  return h(
    "header",
    {},
    icon(getIcon(kind), `kind ${kind}`),
    h(
      "div",
      { class: "words" },
      h("strong", { title: formatName(entry.name) }, formatName(entry.name)),
      h("span", {}, describe(entry)),
    ),
    iconButton("left", "Previous", () => actions.step(-1)),
    iconButton("right", "Next", () => actions.step(1)),
    createLink("open", "Open in a tab", path, { target: "_blank", rel: "noopener" }),
    createLink("download", "Download", `${path}?download`, {}),
    iconButton("close", "Close", close, { className: "tool end" }),
  );
}

/**
 * @param {string} name of the icon
 * @param {string} label
 * @param {string} href
 * @param {Readonly<Record<string, string>>} rest
 */
function createLink(name, label, href, rest) {
  return h("a", { class: "tool", href, title: label, "aria-label": label, ...rest }, icon(name));
}

/** @param {Entry} entry */
function describe(entry) {
  return `${formatSize(entry.size)} · ${formatFullDate(entry.modified)}`;
}

/**
 * @param {HTMLElement} body
 * @param {Shown} shown
 */
async function fill(body, shown) {
  try {
    body.replaceChildren(...await createContent(shown));
  } catch (error) {
    if (!isAbort(error)) body.replaceChildren(createCard(shown, tellFailure(error)));
  }
}

/**
 * @param {Shown} shown
 * @returns {Promise<Node[]>}
 */
async function createContent(shown) {
  const { entry, path } = shown;
  const name = formatName(entry.name);
  /** @param {HTMLElement} element */
  const fallBack = (element) => {
    element.addEventListener("error", () => element.replaceWith(createCard(shown, "This cannot be shown here.")));
    return element;
  };
  switch (getKind(entry)) {
    case "image":
      return [fallBack(h("img", { src: path, alt: name, class: "shown" }))];
    case "video":
      return [
        fallBack(h("video", { src: path, controls: true, autoplay: true, playsinline: true, "aria-label": name })),
      ];
    case "audio": {
      const sound = fallBack(h("audio", { src: path, controls: true, autoplay: true, "aria-label": name }));
      return [h("div", { class: "sound" }, icon("audio", "kind audio"), sound)];
    }
    case "pdf":
      return [h("iframe", { src: path, title: name })];
    case "archive":
      return [createCard(shown)];
    default:
      return await createTextContent(shown);
  }
}

/** @param {Shown} shown */
async function createTextContent(shown) {
  const [text, { showText }] = await Promise.all([fetchText(shown), import("./preview_text.js")]);
  if (text.isBinary) return [createCard(shown)];
  const note = text.isCut ? `Only the first ${formatSize(MAX_TEXT)} are shown.` : "";
  return await showText({ ...shown, text: text.text, note });
}

/**
 * Returns the charset for text without a declared one.
 * @param {Uint8Array} bytes
 */
function guessCharset(bytes) {
  try {
    // stream: the text may be cut inside a character.
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}

/**
 * @param {Shown} shown
 * @returns {Promise<Text>}
 */
async function fetchText({ path, signal }) {
  const response = await send("GET", path, { signal, headers: { range: `bytes=0-${MAX_TEXT - 1}`, accept: "*/*" } })
    .catch((error) => {
      // 416: an empty file has no first byte.
      if (error instanceof ApiError && error.status === 416) return new Response("");
      throw error;
    });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const charset = /charset=([\w-]+)/.exec(response.headers.get("content-type") ?? "")?.[1] ?? guessCharset(bytes);
  const isBinary = !charset.startsWith("utf-16") && bytes.subarray(0, 8192).includes(0);
  const total = Number(/\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1] ?? bytes.length);
  return { text: isBinary ? "" : new TextDecoder(charset).decode(bytes), isBinary, isCut: total > bytes.length };
}

/**
 * @param {Shown} shown
 * @param {string} note
 */
function createCard({ entry, path }, note = "There is no preview for this kind of file.") {
  const kind = getKind(entry);
  return h(
    "div",
    { class: "card" },
    icon(getIcon(kind), `kind ${kind}`),
    h("h2", {}, formatName(entry.name)),
    h("p", {}, describe(entry)),
    h("p", {}, note),
    h("a", { class: "primary", href: `${path}?download` }, icon("download"), "Download"),
  );
}
