// @ts-check
// What is remembered of large uploads, so that one goes on where it stopped when the page was left in between and the
// same file is added again.

import { toPath } from "../parts/api.js";

/**
 * @typedef {import("../parts/api.js").Names} Names
 * @typedef {import("./upload_queue.js").UploadItem} UploadItem
 *
 * `size` in bytes, `modified` and `at` in milliseconds since the epoch.
 * @typedef {{ id: string, names: Names, size: number, modified: number, mode: "new" | "replace", at: number }} KeptUpload
 */

const KEPT_AS = "portway-uploads";
/** How long the share keeps what came of an upload. */
const KEPT_MS = 24 * 60 * 60 * 1000;
const MAX_KEPT = 100;

/** Uploads that have begun and are not done, kept in a store that outlives the page. */
export class UploadMemory {
  #store;
  #now;

  /**
   * @param {Pick<Storage, "getItem" | "setItem">} store
   * @param {() => number} now
   */
  constructor(store, now = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  /** All that may go on, the latest last. */
  list() {
    const from = this.#now() - KEPT_MS;
    return this.#read().filter(({ at }) => at > from);
  }

  /**
   * @param {Pick<UploadItem, "id" | "names" | "mode">} item
   * @param {Pick<File, "size" | "lastModified">} file
   */
  keep({ id, names, mode }, { size, lastModified }) {
    const others = this.list().filter((kept) => kept.id !== id);
    this.#write([...others, { id, names, size, modified: lastModified, mode, at: this.#now() }].slice(-MAX_KEPT));
  }

  /** @param {string} id */
  forget(id) {
    const kept = this.#read();
    if (kept.some((upload) => upload.id === id)) this.#write(kept.filter((upload) => upload.id !== id));
  }

  /**
   * The upload of this very file to this very place: what has the same size and was changed at the same time.
   * @param {Names} names
   * @param {Pick<File, "size" | "lastModified">} file
   */
  find(names, { size, lastModified }) {
    const path = toPath(names, false);
    const found = this.list().find((kept) =>
      kept.size === size && kept.modified === lastModified && toPath(kept.names, false) === path
    );
    return found === undefined ? null : { id: found.id, mode: found.mode };
  }

  /** @returns {KeptUpload[]} */
  #read() {
    try {
      const kept = JSON.parse(this.#store.getItem(KEPT_AS) ?? "[]");
      return Array.isArray(kept) ? kept.filter(isKept) : [];
    } catch {
      // Not written by us: nothing is known.
      return [];
    }
  }

  /** @param {readonly KeptUpload[]} uploads */
  #write(uploads) {
    try {
      this.#store.setItem(KEPT_AS, JSON.stringify(uploads));
    } catch {
      // The browser keeps nothing, as in some private windows: uploads work all the same.
    }
  }
}

/** @param {unknown} value */
function isKept(value) {
  if (typeof value !== "object" || value === null) return false;
  const { id, names, size, modified, at } = /** @type {Record<string, unknown>} */ (value);
  return typeof id === "string" && Array.isArray(names) && names.every((name) => typeof name === "string") &&
    [size, modified, at].every((number) => typeof number === "number");
}

/**
 * Those of `ids` that no other window of this browser is sending now.
 * @param {readonly string[]} ids
 * @returns {Promise<readonly string[]>}
 */
export function findUnsent(ids) {
  return new Promise((resolve) => {
    /** @type {Set<string>} */
    const sent = new Set();
    const channel = new BroadcastChannel(KEPT_AS);
    channel.addEventListener(
      "message",
      ({ data }) => data.sending?.forEach((/** @type {string} */ id) => sent.add(id)),
    );
    channel.postMessage({ ask: true });
    setTimeout(() => {
      channel.close();
      resolve(ids.filter((id) => !sent.has(id)));
    }, 250);
  });
}

/**
 * Tells other windows which uploads this one is sending, whenever one asks.
 * @param {() => readonly string[]} listSending
 */
export function answerOthers(listSending) {
  const channel = new BroadcastChannel(KEPT_AS);
  channel.addEventListener("message", ({ data }) => {
    if (data.ask) channel.postMessage({ sending: listSending() });
  });
}
