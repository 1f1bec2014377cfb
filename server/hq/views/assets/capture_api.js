// @ts-check
import { queryOf } from "./capture_text.js";

/** @typedef {import("../../../../common/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("./capture_types.ts").Filter} Filter */

/** Captures of one view, at the server. All functions throw an Error with a line for the user. */
export class CaptureApi {
  #base;

  /** @param {string} viewId */
  constructor(viewId) {
    this.#base = `/api/v1/views/${viewId}`;
  }

  /**
   * One page, newest first.
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
   * One with its body, where that is short.
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

  /** @param {string} id */
  bodyUrl(id) {
    return `${this.#base}/captures/${id}/body`;
  }

  /** @param {string} id */
  async remove(id) {
    await this.#ask(`/captures/${id}`, "DELETE");
  }

  /**
   * Tells of captures as they come.
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
   * @param {string} [method]
   */
  async #ask(path, method = "GET") {
    const response = await fetch(this.#base + path, { method }).catch(() => null);
    if (response === null) throw new Error("The server cannot be reached.");
    if (response.ok) return response;
    const told = await response.json().catch(() => null);
    throw new Error(told?.error?.message ?? `The server answered ${response.status}.`);
  }
}
