// @ts-check
import { queryOf } from "./capture_text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("./capture_types.ts").Filter} Filter */

/** A view's captures through the API. All methods throw an Error with a line for the user. */
export class CaptureApi {
  #base;

  /** @param {string} viewId */
  constructor(viewId) {
    this.#base = `/api/v1/views/${viewId}`;
  }

  /**
   * Loads one page, newest first.
   * @param {Filter} filter
   * @param {Record<string, string>} more
   * @returns {Promise<{ captures: Capture[], next: number | null }>}
   */
  async list(filter, more) {
    const query = queryOf(filter);
    for (const [name, value] of Object.entries(more)) query.set(name, value);
    return await (await this.#ask(`/captures?${query}`)).json();
  }

  /**
   * Loads a capture, with its body when that is short.
   * @param {string} id
   * @returns {Promise<Capture>}
   */
  async get(id) {
    return await (await this.#ask(`/captures/${id}`)).json();
  }

  /**
   * @param {string} id
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async getBody(id) {
    return new Uint8Array(await (await this.#ask(`/captures/${id}/body`)).arrayBuffer());
  }

  /**
   * Loads a body's beginning without its Content-Encoding. A broken encoding ends the result early.
   * @param {string} id
   * @param {number} maxBytes
   * @returns {Promise<{ bytes: Uint8Array<ArrayBuffer>, isWhole: boolean }>}
   */
  async getDecoded(id, maxBytes) {
    const reader = (await this.#ask(`/captures/${id}/body?decoded=true`)).body?.getReader();
    const pieces = [];
    let size = 0, isWhole = false;
    try {
      while (reader !== undefined && size <= maxBytes && !isWhole) {
        const { done, value } = await reader.read();
        isWhole = done;
        if (!done) pieces.push(value);
        size += value?.length ?? 0;
      }
    } catch {
      // The decoded stream broke off.
    }
    await reader?.cancel().catch(() => {});
    const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
    return { bytes: bytes.slice(0, maxBytes), isWhole: isWhole && size <= maxBytes };
  }

  /** @param {string} id */
  async remove(id) {
    await this.#ask(`/captures/${id}`, { method: "DELETE" });
  }

  /** Restores a capture that was deleted within the last ten minutes. @param {string} id */
  async restore(id) {
    await this.#ask(`/captures/${id}/restore`, { method: "POST" });
  }

  /**
   * Sends a capture again, to a URL or to its view.
   * @param {string} id
   * @param {string | null} url null for its view
   * @param {import("./capture_types.ts").Edit | undefined} edit parts that replace the captured ones
   * @param {AbortSignal} signal
   * @returns {Promise<import("../../../../common/captures/capture_json.ts").ReplayedJson | { capture: string }>}
   */
  async replay(id, url, edit, signal) {
    const body = JSON.stringify({ url, edit });
    return await (await this.#ask(`/captures/${id}/replay`, { method: "POST", body, signal })).json();
  }

  /**
   * Follows new captures.
   * @param {number} after the cursor that they come after
   * @param {(capture: Capture) => void} onCapture
   * @param {(isOpen: boolean) => void} onState
   * @returns what ends it
   */
  follow(after, onCapture, onState) {
    const source = new EventSource(`${this.#base}/stream?after=${after}`);
    source.addEventListener("capture", (event) => onCapture(JSON.parse(event.data)));
    source.addEventListener("removed", () => source.close());
    source.addEventListener("open", () => onState(true));
    source.addEventListener("error", () => onState(false));
    return () => source.close();
  }

  /**
   * @param {string} path
   * @param {RequestInit} [init]
   */
  async #ask(path, init) {
    const response = await fetch(this.#base + path, init).catch(() => null);
    if (response === null) throw new Error("The server cannot be reached.");
    if (response.ok) return response;
    if (response.status === 401) throw new Error("You are signed out: load the page again to sign in.");
    const told = await response.json().catch(() => null);
    const { message = `The server answered ${response.status}.`, details = "" } = told?.error ?? {};
    throw new Error(`${message} ${details}`.trim());
  }
}
