// @ts-check
// The dialog that sends a capture again.
import { showBytes } from "./capture_body.js";
import { byId, element, table } from "./capture_dom.js";
import { decodeBase64, formatBodySize, methodClass, readable, shownPath } from "./capture_text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("../../../../common/captures/capture_json.ts").ReplayedJson} Replayed */
/** @typedef {import("./capture_body.js").Readers} Readers */

/** Sends captures of one view to a URL, which the browser remembers for the view, or to the view itself. */
export class ReplayDialog {
  #dialog = byId("replay", HTMLDialogElement);
  #form = byId("replay-form", HTMLFormElement);
  #url = byId("replay-url", HTMLInputElement);
  #said = byId("replay-said", HTMLElement);
  #answer = byId("replay-answer", HTMLElement);
  #command = byId("replay-command", HTMLElement);
  #api;
  #viewId;
  #readers;
  /** @type {Capture | null} */
  #capture = null;
  /** Ends what is being sent. */
  #leave = new AbortController();

  /**
   * @param {string} viewId
   * @param {{ replay(id: string, url: string | null, signal: AbortSignal): Promise<Replayed | { capture: string }> }} api
   * @param {Readers} readers
   */
  constructor(viewId, api, readers) {
    this.#viewId = viewId;
    this.#api = api;
    this.#readers = readers;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send(this.#url.value.trim());
    });
    byId("replay-view", HTMLButtonElement).addEventListener("click", () => void this.#send(null));
    this.#dialog.addEventListener("close", () => this.#leave.abort());
  }

  /** @param {Capture} capture */
  open(capture) {
    this.#capture = capture;
    byId("replay-what", HTMLElement).replaceChildren(
      element("span", { class: `method ${methodClass(capture.method)}` }, [capture.method]),
      ` ${shownPath(capture)}`,
    );
    this.#url.value = recall(this.#viewId);
    this.#sayCommand(capture);
    this.#say("");
    this.#dialog.showModal();
    this.#url.focus();
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
    this.#answer.replaceChildren();
  }

  /** @param {string | null} url null: to the view itself */
  async #send(url) {
    const capture = this.#capture;
    if (capture === null) return;
    if (url === "") {
      this.#say("Say where to send it.", "bad");
      return this.#url.focus();
    }
    this.#leave.abort();
    const leave = this.#leave = new AbortController();
    this.#say("Sending…");
    try {
      const result = await this.#api.replay(capture.id, url, leave.signal);
      if (leave.signal.aborted) return;
      if (url !== null) remember(this.#viewId, url);
      if ("capture" in result) this.#say(`Captured again, as number ${result.capture}.`, "good");
      else this.#show(result);
    } catch (error) {
      if (leave.signal.aborted) return;
      this.#say(error instanceof Error ? error.message : String(error), "bad");
    }
  }

  /** @param {Replayed} answer */
  #show({ url, status, statusText, headers, durationMs, body, bodyTruncated, decoded, decodedTruncated }) {
    const find = (/** @type {string} */ name) => headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? null;
    const came = decodeBase64(body);
    const shown = decoded === undefined
      ? { bytes: came, isWhole: bodyTruncated === undefined }
      : { bytes: decodeBase64(decoded), isWhole: decodedTruncated === undefined };
    const size = `${bodyTruncated ? "more than " : ""}${formatBodySize(came.length)}`;
    this.#say(
      `${`${status} ${readable(statusText)}`.trim()}, ${durationMs} ms, ${size}`,
      status < 400 ? "good" : "bad",
    );
    const view = element(
      "div",
      { class: "body-view" },
      showBytes(shown, "pretty", find("content-type"), this.#readers),
    );
    this.#answer.replaceChildren(
      element("p", { class: "replay-url" }, [`Answer of ${url}`]),
      element("h3", {}, ["Headers"]),
      table(headers.map(([name, value]) => [name, readable(value)])),
      element("h3", {}, ["Body"]),
      came.length === 0 ? element("p", { class: "nothing" }, ["No body"]) : view,
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
    // A browser that keeps nothing has it typed again.
  }
}
