// @ts-check
import { showBytes, SHOWN_BYTES } from "./capture_body.js";
import { element, saveFile, table } from "./capture_dom.js";
import { toCurl } from "./capture_export.js";
import { guessPreset, PRESETS, verifySignature } from "./capture_signature.js";
import { codingsOf, decodeBase64, formatBodySize, methodClass, readable, shownPath } from "./capture_text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("./capture_api.js").CaptureApi} CaptureApi */
/** @typedef {import("./capture_body.js").Readers} Readers */
/** @typedef {import("./capture_body.js").Shown} Shown */

/** Bytes of a body that a command is made with. */
const CURL_BYTES = 64 * 1024;
/** Codings that the server undoes. */
const DECODED = ["gzip", "x-gzip", "deflate", "br", "zstd"];

/** As HQ's pages tell moments, to the second. */
const RECEIVED = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Everything of one capture. */
export class CaptureDetail {
  #box;
  #api;
  #captureUrl;
  #readers;
  #onReplay;
  #onRemoved;
  /** What was chosen last, and may be on its way. @type {string | null} */
  #wanted = null;
  /** @type {Capture | null} */
  #capture = null;
  /** @type {Promise<Uint8Array<ArrayBuffer>> | null} */
  #body = null;
  /** @type {Promise<Shown> | null} */
  #decoded = null;

  /**
   * @param {HTMLElement} box
   * @param {CaptureApi} api
   * @param {string} captureUrl
   * @param {Readers} readers
   * @param {(capture: Capture) => void} onReplay it is to be sent again
   * @param {(id: string) => void} onRemoved
   */
  constructor(box, api, captureUrl, readers, onReplay, onRemoved) {
    this.#box = box;
    this.#api = api;
    this.#captureUrl = captureUrl;
    this.#readers = readers;
    this.#onReplay = onReplay;
    this.#onRemoved = onRemoved;
  }

  /** @param {string} id */
  async show(id) {
    this.#wanted = id;
    const capture = await this.#api.get(id);
    // Another one was chosen meanwhile.
    if (this.#wanted !== id) return;
    this.#capture = capture;
    this.#body = null;
    this.#decoded = null;
    const view = element("div", { class: "body-view" });
    this.#box.replaceChildren(
      this.#createHead(capture),
      this.#createActions(capture),
      details([
        ["Received", RECEIVED.format(new Date(capture.receivedAt))],
        ["From", capture.address],
        ["Host", capture.host],
        ["HTTP", capture.httpVersion],
        ["Capture", capture.id],
      ]),
      ...this.#createQuery(capture),
      ...section("Body", ...this.#createBody(capture, view)),
      ...section("Headers", table(capture.headers.map(([name, value]) => [name, readable(value)]))),
      ...section("Signature", this.#createVerifier(capture)),
    );
    this.#box.scrollTop = 0;
    await this.#showBody(view, "pretty");
  }

  clear() {
    this.#wanted = null;
    this.#capture = null;
    this.#box.replaceChildren(element("p", { class: "nothing" }, ["Choose a call to see all of it."]));
  }

  /** The whole body. */
  async #loadBody() {
    const capture = this.#capture;
    if (capture === null) return new Uint8Array(0);
    return await (this.#body ??= capture.body === undefined
      ? this.#api.getBody(capture.id)
      : Promise.resolve(decodeBase64(capture.body)));
  }

  /**
   * A body as people read it: without its coding, where it has one.
   * @param {Capture} capture
   * @returns {Promise<Shown>}
   */
  async #loadReadable({ id, headers }) {
    const codings = codingsOf(headers), asItCame = async () => ({ bytes: await this.#loadBody(), isWhole: true });
    if (codings.length === 0 || !codings.every((name) => DECODED.includes(name))) return await asItCame();
    // What is not coded as it says is shown as it came.
    return await (this.#decoded ??= this.#api.getDecoded(id, SHOWN_BYTES).catch(asItCame));
  }

  /** @param {Capture} capture */
  #createHead(capture) {
    return element("h2", { class: "capture-title", tabindex: "-1" }, [
      element("span", { class: `method ${methodClass(capture.method)}` }, [capture.method]),
      " ",
      element("span", { class: "target" }, [shownPath(capture)]),
    ]);
  }

  /** @param {Capture} capture */
  #createActions(capture) {
    const said = element("span", { class: "said", role: "status" });
    const replay = button("Send again…", () => Promise.resolve(this.#onReplay(capture)));
    const copy = button("Copy as cURL", async () => {
      const body = capture.bodySize > CURL_BYTES ? null : await this.#loadBody();
      await navigator.clipboard.writeText(toCurl(capture, this.#captureUrl, body));
      said.textContent = "Copied";
    });
    const raw = button("Download body", async () => saveFile(`capture-${capture.id}`, [await this.#loadBody()]));
    raw.disabled = capture.bodySize === 0;
    const remove = button("Delete", async () => {
      await this.#api.remove(capture.id);
      this.#onRemoved(capture.id);
    });
    remove.classList.add("risky");
    const actions = element("div", { class: "capture-actions" }, [replay, copy, raw, remove, said]);
    for (const one of [copy, raw, remove]) {
      one.addEventListener("failed", (event) => {
        said.textContent = event instanceof CustomEvent ? String(event.detail) : "";
      });
    }
    return actions;
  }

  /** @param {Capture} capture */
  #createQuery({ query }) {
    if (query === null || query === "") return [];
    return section("Query", table([...new URLSearchParams(query)]));
  }

  /**
   * @param {Capture} capture
   * @param {HTMLElement} view
   */
  #createBody({ bodySize, contentType, headers }, view) {
    if (bodySize === 0) return [element("p", { class: "nothing" }, ["No body"])];
    const forms = ["Pretty", "Raw", "Hex"];
    const tabs = forms.map((name) => {
      const tab = button(name, async () => {
        for (const other of tabs) other.setAttribute("aria-pressed", String(other === tab));
        await this.#showBody(view, name.toLowerCase());
      });
      tab.setAttribute("aria-pressed", String(name === "Pretty"));
      return tab;
    });
    const codings = codingsOf(headers), type = contentType === null ? "" : ` of ${contentType}`;
    const about = `${formatBodySize(bodySize)}${type}${codings.length === 0 ? "" : `, coded as ${codings.join(", ")}`}`;
    return [element("div", { class: "body-tabs" }, [...tabs, element("span", {}, [about])]), view];
  }

  /**
   * @param {HTMLElement} view
   * @param {string} form
   */
  async #showBody(view, form) {
    const capture = this.#capture;
    if (capture === null || capture.bodySize === 0) return;
    const isHex = form === "hex";
    const body = isHex ? { bytes: await this.#loadBody(), isWhole: true } : await this.#loadReadable(capture);
    // Another one was chosen meanwhile.
    if (capture !== this.#capture) return;
    const nodes = showBytes(body, form, capture.contentType, this.#readers);
    view.replaceChildren(...nodes);
  }

  /** @param {Capture} capture */
  #createVerifier(capture) {
    const guess = guessPreset(capture);
    const preset = element(
      "select",
      { id: "signature-preset" },
      Object.keys(PRESETS).map((name) => {
        const option = element("option", { value: name }, [name]);
        option.selected = name === guess;
        return option;
      }),
    );
    const secret = element("input", { id: "signature-secret", type: "password", autocomplete: "off" });
    const said = element("p", { class: "said", role: "status" });
    const form = element("form", { class: "verifier" }, [
      element("label", { for: "signature-preset" }, ["Sender"]),
      preset,
      element("label", { for: "signature-secret" }, ["Secret, which stays in this page"]),
      secret,
      element("button", { type: "submit", class: "button" }, ["Verify"]),
      said,
    ]);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const result = await verifySignature(preset.value, secret.value, capture, await this.#loadBody());
      said.textContent = VERDICTS[result];
      said.dataset.verdict = result;
    });
    const details = element("details", { class: "verify" }, [
      element("summary", {}, [guess === null ? "Verify a signature" : `Verify the signature of ${guess}`]),
      form,
    ]);
    return details;
  }
}

const VERDICTS = {
  valid: "The signature is valid.",
  invalid: "The signature is not valid: another secret, or other bytes.",
  unsigned: "There is no signature of this sender.",
};

/**
 * @param {string} title
 * @param {HTMLElement[]} content
 */
function section(title, ...content) {
  return [element("h3", {}, [title]), ...content];
}

/** @param {readonly (readonly [string, string])[]} pairs */
function details(pairs) {
  const parts = pairs.map(([name, value]) =>
    element("div", {}, [element("dt", {}, [name]), element("dd", {}, [value])])
  );
  return element("dl", { class: "capture-about" }, parts);
}

/**
 * @param {string} text
 * @param {() => Promise<void>} act
 */
function button(text, act) {
  const made = element("button", { type: "button", class: "button" }, [text]);
  made.addEventListener("click", () => {
    act().catch((error) => made.dispatchEvent(new CustomEvent("failed", { detail: error.message })));
  });
  return made;
}
