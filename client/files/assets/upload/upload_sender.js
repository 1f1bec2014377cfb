// @ts-check
// Sends one file: in slices where it is large, and on from where it stopped whatever the network does meanwhile.

import { ApiError, getCode, isAbort } from "../parts/api.js";
import { nextName } from "../../../../web/browser/format.js";

/**
 * @typedef {import("../parts/api.js").Names} Names
 * @typedef {import("../change/batch.js").Choice} Choice
 * @typedef {import("./upload_queue.js").UploadItem} UploadItem
 * @typedef {import("./upload_queue.js").State} State
 *
 * @typedef {object} SenderParts
 * @property {import("./upload_queue.js").Transport} transport
 * @property {import("./upload_queue.js").Memory} memory
 * @property {(item: UploadItem, state: State) => void} set
 * @property {() => void} onprogress
 * @property {(item: UploadItem) => Promise<Choice>} onconflict
 * @property {(item: UploadItem, id: string) => boolean} takeOver lets an item go on as the upload of that id; false while
 *   another one sends it
 */

/** Bytes of a slice: proxies on the way often refuse bodies of 100 MB. A file that is no larger is sent whole. */
const SLICE = 8 * 1024 * 1024;
/** Answers that say "not now" rather than "no". */
const PASSING = new Set([0, 408, 425, 429, 500, 502, 503, 504]);

/** What an upload takes, from the first question to the last byte. */
export class UploadSender {
  #parts;

  /** @param {SenderParts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * Sends a file, whatever the network does meanwhile; false when one of that name is there and is to stay.
   * @param {UploadItem} item
   * @param {() => Promise<File>} source
   * @param {AbortSignal} signal
   */
  async send(item, source, signal) {
    const file = await source();
    signal.throwIfAborted();
    item.size = file.size;
    const isResumed = item.sent > 0 || await this.#takeUp(item, file);
    signal.throwIfAborted();
    // What was sent before may not all have arrived.
    if (isResumed && await this.#findOffset(item, file, signal)) return true;
    for (let tries = 0;;) {
      const before = item.sent;
      try {
        if (await this.#sendFile(item, file, signal)) return true;
      } catch (error) {
        if (signal.aborted || !(error instanceof ApiError)) throw error;
        if (error.status === 412 && item.mode === "new") {
          if (await this.#settleConflict(item, signal)) continue;
          return false;
        }
        if (!isPassing(error)) throw error;
        tries = item.sent > before ? 0 : tries + 1;
        this.#parts.set(item, "retrying");
        await this.#parts.transport.waitToRetry(tries, signal);
      }
      if (await this.#findOffset(item, file, signal)) return true;
    }
  }

  /**
   * Goes on with the upload of the same file that was broken off in an earlier visit; false when there is none.
   * @param {UploadItem} item
   * @param {File} file
   */
  async #takeUp(item, file) {
    if (file.size <= SLICE) return false;
    const kept = await this.#parts.memory.find(item.names, file);
    if (kept === null) return false;
    // The same file twice at once: the second one is an upload of its own.
    if (!this.#parts.takeOver(item, kept.id)) return false;
    Object.assign(item, kept);
    return true;
  }

  /**
   * Sends what is missing; true when the file is complete.
   * @param {UploadItem} item
   * @param {File} file
   * @param {AbortSignal} signal
   */
  async #sendFile(item, file, signal) {
    const onprogress = () => this.#parts.onprogress();
    this.#parts.set(item, "sending");
    if (file.size <= SLICE) {
      await this.#parts.transport.sendPart(item, file, { start: 0, end: file.size, signal, onprogress });
      return true;
    }
    this.#parts.memory.keep(item, file);
    while (item.sent < file.size) {
      const end = Math.min(item.sent + SLICE, file.size);
      const status = await this.#parts.transport.sendPart(item, file, { start: item.sent, end, signal, onprogress });
      item.sent = end;
      if (status !== 202) return true;
    }
    return false;
  }

  /**
   * Asks how much of a file is there; true when all of it is, and the answer that said so was lost.
   * @param {UploadItem} item
   * @param {File} file
   * @param {AbortSignal} signal
   */
  async #findOffset(item, file, signal) {
    try {
      const { offset, isComplete } = await this.#parts.transport.findOffset(item, signal);
      // A small file is sent whole, so it begins anew; so does one of which all came, but which got no name.
      item.sent = file.size > SLICE && offset < file.size ? offset : 0;
      return isComplete && offset === file.size;
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      // Not reachable yet: the next part will fail and ask again.
      return false;
    }
  }

  /**
   * Asks what to do about a file of that name; false when the upload is to be left out.
   * @param {UploadItem} item
   * @param {AbortSignal} signal
   */
  async #settleConflict(item, signal) {
    this.#parts.set(item, "asking");
    const choice = await this.#parts.onconflict(item);
    signal.throwIfAborted();
    this.#parts.memory.forget(item.id);
    if (choice === "skip") {
      item.problem = "Skipped: it is there already.";
      return false;
    }
    if (choice === "replace") item.mode = "replace";
    else item.names = [...item.names.slice(0, -1), nextName(item.names.at(-1) ?? "")];
    item.sent = 0;
    return true;
  }

  /**
   * @param {Names} names
   * @param {AbortSignal} signal
   */
  async makeFolder(names, signal) {
    try {
      await this.#parts.transport.makeFolder(names, signal);
    } catch (error) {
      // It is there already: that is what was wanted.
      if (getCode(error) !== "already_exists") throw error;
    }
  }
}

/** @param {ApiError} error */
function isPassing({ status, code }) {
  return PASSING.has(status) || code === "upload_cut" || (status === 409 && code.startsWith("upload_"));
}
