// @ts-check
// The dialog that sends a capture again, as it came or edited.
import { showBytes, table } from "../../../../web/viewer/body.js";
import { find, h } from "../../../../web/browser/dom.js";
import { byteText, decodeBase64, methodClass, readable } from "../../../../web/viewer/text.js";
import { formatSize } from "../../../../web/browser/format.js";
import { shownPath } from "./capture_text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("../../../../common/captures/capture_json.ts").ReplayedJson} Replayed */

/** Fields that the server writes itself. */
const NOT_EDITED = /^(host|content-length|connection|keep-alive|transfer-encoding|expect)$/i;
/** Most bytes in an edited body. */
const EDITED_BYTES = 256 * 1024;

/** The capture editor: method, path, headers and body. */
class CaptureEditor {
  #details = find("#replay-edit", HTMLDetailsElement);
  #method = find("#replay-method", HTMLInputElement);
  #path = find("#replay-path", HTMLInputElement);
  #headers = find("#replay-headers", HTMLTextAreaElement);
  #body = find("#replay-body", HTMLTextAreaElement);
  #hint = find("#replay-body-hint", HTMLElement);
  /** The fields as they were filled. */
  #filled = { method: "", path: "", headers: "", body: "" };
  /** Counts captures, so that a late body is dropped. */
  #turn = 0;

  /**
   * @param {Capture} capture
   * @param {() => Promise<Uint8Array<ArrayBuffer>>} loadBody
   * @returns {Promise<void>}
   */
  async fill(capture, loadBody) {
    const turn = ++this.#turn;
    this.#details.open = false;
    this.#method.value = capture.method;
    this.#path.value = shownPath(capture);
    this.#headers.value = capture.headers.filter(([name]) => !NOT_EDITED.test(name))
      .map(([name, value]) => `${name}: ${readable(value)}`).join("\n");
    this.#body.value = "";
    this.#body.disabled = true;
    const text = capture.bodySize > EDITED_BYTES ? null : decodeUtf8(await loadBody());
    if (turn !== this.#turn) return;
    this.#body.value = text ?? "";
    this.#body.disabled = text === null;
    this.#hint.hidden = text !== null;
    this.#filled = this.#read();
  }

  /**
   * Returns the parts that the user changed, or undefined when there are none.
   * @returns {import("./capture_types.ts").Edit | undefined}
   * @throws {Error} for a header line without a colon
   */
  readEdit() {
    const now = this.#read(), before = this.#filled;
    /** @type {import("./capture_types.ts").Edit} */
    const edit = {};
    if (now.method !== before.method) edit.method = now.method;
    if (now.path !== before.path) edit.path = escapePath(now.path);
    if (now.headers !== before.headers) edit.headers = parseHeaders(now.headers);
    if (now.body !== before.body) edit.body = btoa(toBytes(now.body));
    return Object.keys(edit).length === 0 ? undefined : edit;
  }

  #read() {
    const [method, path] = [this.#method.value.trim(), this.#path.value.trim()];
    return { method, path, headers: this.#headers.value, body: this.#body.value };
  }
}

/** @param {string} text in UTF-8, one character a byte */
const toBytes = (text) => byteText(new TextEncoder().encode(text));

/** Escapes the characters that a request line cannot contain. @param {string} path */
const escapePath = (path) => path.replace(/[^\x21\x22\x24-\x7e]+/gu, encodeURIComponent);

/** @param {Uint8Array<ArrayBuffer>} bytes */
function decodeUtf8(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    // A text field would change these.
    return /[\0\r]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

/**
 * @param {string} text
 * @returns {[name: string, value: string][]}
 */
function parseHeaders(text) {
  return text.split("\n").filter((line) => line.trim() !== "").map((line) => {
    const colon = line.indexOf(":");
    if (colon <= 0) throw new Error(`The header line "${line.slice(0, 60)}" has no colon.`);
    return [line.slice(0, colon).trim(), toBytes(line.slice(colon + 1).trim())];
  });
}

/** Sends one view's captures to a URL, which the browser remembers for the view, or to the view itself. */
export class ReplayDialog {
  #dialog = find("#replay", HTMLDialogElement);
  #form = find("#replay-form", HTMLFormElement);
  #url = find("#replay-url", HTMLInputElement);
  #said = find("#replay-said", HTMLElement);
  #response = find("#replay-response", HTMLElement);
  #command = find("#replay-command", HTMLElement);
  #editor = new CaptureEditor();
  #api;
  #viewId;
  /** @type {Capture | null} */
  #capture = null;
  /** Ends the running request. */
  #leave = new AbortController();

  /**
   * @param {string} viewId
   * @param {Pick<import("./capture_api.js").CaptureApi, "replay">} api
   */
  constructor(viewId, api) {
    this.#viewId = viewId;
    this.#api = api;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send(this.#url.value.trim());
    });
    find("#replay-view", HTMLButtonElement).addEventListener("click", () => void this.#send(null));
    this.#dialog.addEventListener("close", () => this.#leave.abort());
  }

  /**
   * @param {Capture} capture
   * @param {() => Promise<Uint8Array<ArrayBuffer>>} loadBody
   */
  open(capture, loadBody) {
    this.#capture = capture;
    find("#replay-what", HTMLElement).replaceChildren(
      h("span", { class: `method ${methodClass(capture.method)}` }, [capture.method]),
      ` ${shownPath(capture)}`,
    );
    this.#url.value = recall(this.#viewId);
    this.#sayCommand(capture);
    this.#say("");
    this.#dialog.showModal();
    this.#url.focus();
    this.#editor.fill(capture, loadBody).catch((error) => this.#say(error.message, "bad"));
  }

  /** @param {Capture} capture */
  #sayCommand({ id }) {
    const text = `portway --views-replay ${this.#viewId} ${id} --forward 3000`;
    const code = this.#command.querySelector("code"), copy = this.#command.querySelector("button");
    if (code !== null) code.textContent = text;
    if (copy !== null) copy.dataset.copy = text;
  }

  /**
   * @param {string} text
   * @param {string} [tone]
   */
  #say(text, tone = "") {
    this.#said.textContent = text;
    this.#said.dataset.tone = tone;
    this.#response.replaceChildren();
  }

  /** @param {string | null} url null: to the view itself */
  async #send(url) {
    const capture = this.#capture;
    if (capture === null) return;
    if (url === "") {
      this.#say("Enter the URL to send it to.", "bad");
      return this.#url.focus();
    }
    this.#leave.abort();
    const leave = this.#leave = new AbortController();
    this.#say("Sending…");
    try {
      const edit = url === null ? undefined : this.#editor.readEdit();
      const result = await this.#api.replay(capture.id, url, edit, leave.signal);
      if (leave.signal.aborted) return;
      if (url !== null) remember(this.#viewId, url);
      if ("capture" in result) this.#say(`Captured again, as number ${result.capture}.`, "good");
      else this.#show(result);
    } catch (error) {
      if (leave.signal.aborted) return;
      this.#say(error instanceof Error ? error.message : String(error), "bad");
    }
  }

  /** @param {Replayed} response */
  #show({ url, status, statusText, headers, durationMs, body, bodyTruncated, decoded, decodedTruncated }) {
    const findField = (/** @type {string} */ name) => headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? null;
    const came = decodeBase64(body);
    const shown = decoded === undefined
      ? { bytes: came, isWhole: bodyTruncated === undefined }
      : { bytes: decodeBase64(decoded), isWhole: decodedTruncated === undefined };
    const size = `${bodyTruncated ? "more than " : ""}${formatSize(came.length)}`;
    this.#say(
      `${`${status} ${readable(statusText)}`.trim()}, ${durationMs} ms, ${size}`,
      status < 400 ? "good" : "bad",
    );
    const view = h(
      "div",
      { class: "body-view" },
      showBytes(shown, "pretty", findField("content-type")),
    );
    this.#response.replaceChildren(
      h("p", { class: "replay-url" }, [`Response of ${url}`]),
      h("h3", {}, ["Headers"]),
      table(headers.map(([name, value]) => [name, readable(value)])),
      h("h3", {}, ["Body"]),
      came.length === 0 ? h("p", { class: "nothing" }, ["No body"]) : view,
    );
  }
}

const keyOf = (/** @type {string} */ viewId) => `portway-replay-${viewId}`;

/** @param {string} viewId */
function recall(viewId) {
  try {
    return localStorage.getItem(keyOf(viewId)) ?? "";
  } catch {
    return "";
  }
}

/**
 * @param {string} viewId
 * @param {string} url
 */
function remember(viewId, url) {
  try {
    localStorage.setItem(keyOf(viewId), url);
  } catch {
    // Without storage the user types the URL again.
  }
}
