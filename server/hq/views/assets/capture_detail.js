// @ts-check
import { createScheme, guessSender, SENDERS, verifySignature } from "../../../../common/readable/signature.js";
import { showBytes, SHOWN_BYTES, table } from "../../../../web/viewer/body.js";
import { h, saveFile } from "../../../../web/browser/dom.js";
import { toCurl } from "./capture_export.js";
import { codingsOf, decodeBase64, methodClass, readable } from "../../../../web/viewer/text.js";
import { formatSize } from "../../../../web/browser/format.js";
import { shownPath } from "./capture_text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("./capture_api.js").CaptureApi} CaptureApi */
/** @typedef {import("../../../../web/viewer/body.js").Shown} Shown */

/** Most body bytes in a command. */
const CURL_BYTES = 64 * 1024;
/** Content encodings that the server decodes. */
const DECODED = ["gzip", "x-gzip", "deflate", "br", "zstd"];

/** Date and time to the second, as on other pages. */
const RECEIVED = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/**
 * @typedef {object} DetailOptions
 * @property {CaptureApi} api
 * @property {string} captureUrl
 * @property {(capture: Capture, loadBody: () => Promise<Uint8Array<ArrayBuffer>>) => void} onReplay
 * @property {(capture: Capture) => Promise<void>} onRemove
 */

/** One capture's details. */
export class CaptureDetail {
  #box;
  #options;
  /** The chosen capture's id, which may still load. @type {string | null} */
  #wanted = null;
  /** @type {Capture | null} */
  #capture = null;
  /** @type {Promise<Uint8Array<ArrayBuffer>> | null} */
  #body = null;
  /** @type {Promise<Shown> | null} */
  #decoded = null;

  /**
   * @param {HTMLElement} box
   * @param {DetailOptions} options
   */
  constructor(box, options) {
    this.#box = box;
    this.#options = options;
  }

  /** The open or loading capture's id; null for none. */
  get shownId() {
    return this.#wanted;
  }

  /** @param {string} id */
  async show(id) {
    this.#wanted = id;
    const capture = await this.#options.api.get(id);
    // The user chose another capture meanwhile.
    if (this.#wanted !== id) return;
    this.#capture = capture;
    this.#body = null;
    this.#decoded = null;
    const view = h("div", { class: "body-view" });
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
    this.#box.replaceChildren(h("p", { class: "nothing" }, ["Choose a call to see all of it."]));
  }

  /** Loads the whole body. */
  async #loadBody() {
    const capture = this.#capture;
    if (capture === null) return new Uint8Array(0);
    return await (this.#body ??= capture.body === undefined
      ? this.#options.api.getBody(capture.id)
      : Promise.resolve(decodeBase64(capture.body)));
  }

  /**
   * Loads a body without its content encoding.
   * @param {Capture} capture
   * @returns {Promise<Shown>}
   */
  async #loadReadable({ id, headers }) {
    const codings = codingsOf(headers), asItCame = async () => ({ bytes: await this.#loadBody(), isWhole: true });
    if (codings.length === 0 || !codings.every((name) => DECODED.includes(name))) return await asItCame();
    // A body with a wrong Content-Encoding is shown unchanged.
    return await (this.#decoded ??= this.#options.api.getDecoded(id, SHOWN_BYTES).catch(asItCame));
  }

  /** @param {Capture} capture */
  #createHead(capture) {
    return h("h2", { class: "capture-title", tabindex: "-1" }, [
      h("span", { class: `method ${methodClass(capture.method)}` }, [capture.method]),
      " ",
      h("span", { class: "target" }, [shownPath(capture)]),
    ]);
  }

  /** @param {Capture} capture */
  #createActions(capture) {
    const said = h("span", { class: "said", role: "status" });
    const replay = button("Send again…", () => {
      this.#options.onReplay(capture, () => this.#loadBody());
      return Promise.resolve();
    });
    const copy = button("Copy as cURL", async () => {
      const body = capture.bodySize > CURL_BYTES ? null : await this.#loadBody();
      await navigator.clipboard.writeText(toCurl(capture, this.#options.captureUrl, body));
      said.textContent = "Copied";
    });
    const raw = button("Download body", async () => saveFile(`capture-${capture.id}`, [await this.#loadBody()]));
    raw.disabled = capture.bodySize === 0;
    const remove = button("Delete", () => this.#options.onRemove(capture));
    remove.classList.add("risky");
    const actions = h("div", { class: "capture-actions" }, [replay, copy, raw, remove, said]);
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
    if (bodySize === 0) return [h("p", { class: "nothing" }, ["No body"])];
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
    const about = `${formatSize(bodySize)}${type}${codings.length === 0 ? "" : `, coded as ${codings.join(", ")}`}`;
    return [h("div", { class: "body-tabs" }, [...tabs, h("span", {}, [about])]), view];
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
    // The user chose another capture meanwhile.
    if (capture !== this.#capture) return;
    const nodes = showBytes(body, form, capture.contentType);
    view.replaceChildren(...nodes);
  }

  /** @param {Capture} capture */
  #createVerifier(capture) {
    const guess = guessSender(capture);
    const sender = select("signature-sender", [...Object.keys(SENDERS), OTHER], guess ?? "");
    const secret = h("input", { id: "signature-secret", type: "password", autocomplete: "off" });
    const field = h("input", { id: "signature-field", autocomplete: "off", spellcheck: "false" });
    const hash = select("signature-hash", ["SHA-256", "SHA-1", "SHA-384", "SHA-512"], "");
    const encoding = select("signature-encoding", ["hex", "base64"], "");
    const own = h("div", { class: "verifier-own" }, [
      ...labelled("Header with the signature", field),
      ...labelled("Hash", hash),
      ...labelled("Encoding", encoding),
    ]);
    const showOwn = () => own.hidden = sender.value !== OTHER;
    sender.addEventListener("change", showOwn);
    showOwn();
    const said = h("p", { class: "said", role: "status" });
    const form = h("form", { class: "verifier" }, [
      ...labelled("Sender", sender),
      own,
      ...labelled("Secret, which stays in this page", secret),
      h("button", { type: "submit", class: "button" }, ["Verify"]),
      said,
    ]);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const chosen = [sender.value, field.value, hash.value, encoding.value];
      const result = await this.#verify(capture, secret.value, chosen);
      said.textContent = VERDICTS[result];
      said.dataset.verdict = result;
    });
    return h("details", { class: "verify" }, [
      h("summary", {}, [guess === null ? "Verify a signature" : `Verify the signature of ${guess}`]),
      form,
    ]);
  }

  /**
   * @param {Capture} capture
   * @param {string} secret
   * @param {string[]} chosen sender, and field, hash and encoding for another one
   */
  async #verify(capture, secret, [sender, field, hash, encoding]) {
    const { captureUrl } = this.#options;
    const scheme = sender === OTHER ? createScheme(field, hash, encoding) : SENDERS[sender];
    if (scheme === null) return "unnamed";
    const below = capture.path.replace(/^\/req\/[^/]*/, "");
    const url = `${captureUrl}${below}${capture.query === null ? "" : `?${capture.query}`}`;
    return await verifySignature(scheme, secret, { headers: capture.headers, url, body: await this.#loadBody() });
  }
}

const OTHER = "Other (HMAC of the body)";

const VERDICTS = {
  valid: "The signature is valid.",
  invalid: "The signature is not valid. The secret or the bytes differ.",
  unsigned: "This call has no signature of this sender.",
  unnamed: "Enter the header that contains the signature.",
};

/**
 * @param {string} id
 * @param {readonly string[]} values
 * @param {string} chosen
 */
function select(id, values, chosen) {
  return h(
    "select",
    { id },
    values.map((value) => {
      const option = h("option", { value }, [value]);
      option.selected = value === chosen;
      return option;
    }),
  );
}

/**
 * @param {string} text
 * @param {HTMLElement} field
 */
function labelled(text, field) {
  return [h("label", { for: field.id }, [text]), field];
}

/**
 * @param {string} title
 * @param {HTMLElement[]} content
 */
function section(title, ...content) {
  return [h("h3", {}, [title]), ...content];
}

/** @param {readonly (readonly [string, string])[]} pairs */
function details(pairs) {
  const parts = pairs.map(([name, value]) => h("div", {}, [h("dt", {}, [name]), h("dd", {}, [value])]));
  return h("dl", { class: "capture-about" }, parts);
}

/**
 * @param {string} text
 * @param {() => Promise<void>} act
 */
function button(text, act) {
  const made = h("button", { type: "button", class: "button" }, [text]);
  made.addEventListener("click", () => {
    act().catch((error) => made.dispatchEvent(new CustomEvent("failed", { detail: error.message })));
  });
  return made;
}
