// @ts-check
// The queue of uploads: several files at a time, large ones in slices, and whatever a cut of the network, a reload of
// the page or a restart of the share broke off is taken up again where it stopped.

import { ApiError, getCode, isAbort } from "../parts/api.js";
import { nextName } from "../parts/format.js";

/**
 * @typedef {import("../parts/api.js").Names} Names
 * @typedef {import("../change/batch.js").Choice} Choice
 * @typedef {"waiting" | "sending" | "retrying" | "paused" | "asking" | "done" | "failed" | "skipped" | "lost" | "canceled"} State
 *   lost: begun in an earlier visit, and its file has to be chosen again
 *
 * @typedef {object} UploadItem
 * @property {string} id under which the share keeps what came of it
 * @property {Names} names where it goes
 * @property {(() => Promise<File>) | null} source null for a folder, and for what is over
 * @property {number | null} size bytes; null while it is not known
 * @property {number} sent bytes
 * @property {State} state
 * @property {string} problem why it failed or was left out, or ""
 * @property {"new" | "replace"} mode whether it may take the place of a file
 * @property {AbortController | null} abort
 *
 * How the queue reaches the share.
 * @typedef {object} Transport
 * @property {(item: UploadItem, file: File, part: Part) => Promise<number>} sendPart resolves with the status
 * @property {(item: UploadItem, signal: AbortSignal) => Promise<{ offset: number, isComplete: boolean }>} findOffset
 * @property {(names: Names, signal: AbortSignal) => Promise<void>} makeFolder
 * @property {(item: UploadItem) => Promise<void>} discard forgets what came of it
 * @property {(tries: number, signal: AbortSignal) => Promise<void>} waitToRetry
 *
 * @typedef {{ start: number, end: number, signal: AbortSignal, onprogress: () => void }} Part
 *
 * What is remembered of large uploads from visit to visit.
 * @typedef {object} Memory
 * @property {(item: UploadItem, file: File) => void} keep
 * @property {(id: string) => void} forget
 * @property {(names: Names, file: File) => Promise<Kept | null>} find the upload of the same file that nobody is sending
 *
 * @typedef {{ id: string, mode: "new" | "replace" }} Kept
 */

/** Files sent at once. Each is written and synced on its own, so a few side by side fill the wait. */
const PARALLEL = 4;
/** Bytes of a slice: proxies on the way often refuse bodies of 100 MB. A file that is no larger is sent whole. */
const SLICE = 8 * 1024 * 1024;
/** Answers that say "not now" rather than "no". */
const PASSING = new Set([0, 408, 425, 429, 500, 502, 503, 504]);

/** States of items that go on by themselves. */
export const MOVING = /** @type {readonly State[]} */ (["sending", "waiting", "retrying", "asking"]);

/** Uploads in the order in which they were added. */
export class UploadQueue {
  /** @type {Set<UploadItem>} */
  items = new Set();
  /** @type {UploadItem[]} */
  #waiting = [];
  #running = 0;
  #transport;
  #memory;
  #on;

  /**
   * @param {object} options
   * @param {Transport} options.transport
   * @param {Memory} options.memory
   * @param {() => void} options.onchange called whenever something about an item or the whole changed
   * @param {() => void} options.onfinished called when a file is there
   * @param {(item: UploadItem) => Promise<Choice>} options.onconflict asked when a file of that name is there
   */
  constructor({ transport, memory, onchange, onfinished, onconflict }) {
    this.#transport = transport;
    this.#memory = memory;
    this.#on = { change: onchange, finished: onfinished, conflict: onconflict };
  }

  /** Whether leaving the page would break something off. */
  get isBusy() {
    return [...this.items].some(({ state }) => state === "paused" || MOVING.includes(state));
  }

  /**
   * @param {Names} names
   * @param {(() => Promise<File>) | null} source null for a folder
   * @param {number | null} size
   */
  add(names, source, size) {
    /** @type {UploadItem} */
    const item = {
      id: createId(),
      names,
      source,
      size,
      sent: 0,
      state: "waiting",
      problem: "",
      mode: "new",
      abort: null,
    };
    this.items.add(item);
    this.#start([item]);
    return item;
  }

  /**
   * Shows an upload of an earlier visit, of which the share has `sent` bytes.
   * @param {{ id: string, names: Names, size: number, sent: number }} upload
   */
  addLost({ id, names, size, sent }) {
    this.items.add({ id, names, source: null, size, sent, state: "lost", problem: "", mode: "new", abort: null });
    this.#on.change();
  }

  /** @param {UploadItem} item */
  pause(item) {
    if (["waiting", "sending", "retrying"].includes(item.state)) this.#stop(item, "paused");
  }

  /** @param {UploadItem} item that is paused or has failed */
  resume(item) {
    if (item.state === "paused" || item.state === "failed") this.#start([item]);
  }

  /** @param {UploadItem} item */
  cancel(item) {
    const isBegun = item.sent > 0 && item.state !== "done" && item.state !== "skipped";
    this.#stop(item, "canceled");
    this.items.delete(item);
    this.#memory.forget(item.id);
    // What stays there all the same is removed by the share after a day.
    if (isBegun) this.#transport.discard(item).catch(() => {});
    this.#on.change();
  }

  pauseAll() {
    for (const item of this.items) this.pause(item);
  }

  resumeAll() {
    this.#start(this.#pick(["paused"]));
  }

  retryAll() {
    this.#start(this.#pick(["failed"]));
  }

  /** @param {readonly State[]} states */
  clear(states) {
    for (const item of this.#pick(states)) this.cancel(item);
  }

  /** Leaves uploads of earlier visits out of sight; they go on when their file is added again. */
  dismissLost() {
    for (const item of this.#pick(["lost"])) this.items.delete(item);
    this.#on.change();
  }

  /** @param {readonly State[]} states */
  #pick(states) {
    return [...this.items].filter(({ state }) => states.includes(state));
  }

  /** @param {readonly UploadItem[]} items */
  #start(items) {
    for (const item of items) {
      item.problem = "";
      item.state = "waiting";
      this.#waiting.push(item);
    }
    this.#pump();
  }

  #pump() {
    while (this.#running < PARALLEL) {
      const item = this.#waiting.shift();
      if (item === undefined) break;
      // It may have been paused since, and gone on by another turn.
      if (item.state !== "waiting") continue;
      this.#running++;
      this.#run(item).finally(() => {
        this.#running--;
        this.#pump();
      });
    }
    this.#on.change();
  }

  /**
   * Works on an item until it is done, failed or stopped; an item that goes on later gets a run of its own.
   * @param {UploadItem} item
   */
  async #run(item) {
    item.abort = new AbortController();
    const { signal } = item.abort;
    this.#set(item, "sending");
    try {
      if (item.source === null) await this.#makeFolder(item.names, signal);
      else if (!await this.#upload(item, item.source, signal)) return this.#set(item, "skipped");
      signal.throwIfAborted();
      this.#memory.forget(item.id);
      item.source = null;
      this.#set(item, "done");
      this.#on.finished();
    } catch (error) {
      if (signal.aborted) return;
      item.problem = error instanceof ApiError ? error.message : "The file could not be read.";
      this.#set(item, "failed");
    }
  }

  /**
   * Sends a file, whatever the network does meanwhile; false when one of that name is there and is to stay.
   * @param {UploadItem} item
   * @param {() => Promise<File>} source
   * @param {AbortSignal} signal
   */
  async #upload(item, source, signal) {
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
        this.#set(item, "retrying");
        await this.#transport.waitToRetry(tries, signal);
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
    const kept = await this.#memory.find(item.names, file);
    if (kept === null) return false;
    for (const other of this.items) {
      if (other === item || other.id !== kept.id) continue;
      // The same file twice at once: the second one is an upload of its own.
      if (other.state !== "lost") return false;
      this.items.delete(other);
    }
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
    const onprogress = () => this.#on.change();
    this.#set(item, "sending");
    if (file.size <= SLICE) {
      await this.#transport.sendPart(item, file, { start: 0, end: file.size, signal, onprogress });
      return true;
    }
    this.#memory.keep(item, file);
    while (item.sent < file.size) {
      const end = Math.min(item.sent + SLICE, file.size);
      const status = await this.#transport.sendPart(item, file, { start: item.sent, end, signal, onprogress });
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
      const { offset, isComplete } = await this.#transport.findOffset(item, signal);
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
    this.#set(item, "asking");
    const choice = await this.#on.conflict(item);
    signal.throwIfAborted();
    this.#memory.forget(item.id);
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
  async #makeFolder(names, signal) {
    try {
      await this.#transport.makeFolder(names, signal);
    } catch (error) {
      // It is there already: that is what was wanted.
      if (getCode(error) !== "already_exists") throw error;
    }
  }

  /**
   * @param {UploadItem} item
   * @param {State} state
   */
  #set(item, state) {
    item.state = state;
    this.#on.change();
  }

  /**
   * @param {UploadItem} item
   * @param {State} state
   */
  #stop(item, state) {
    item.state = state;
    item.abort?.abort();
    this.#on.change();
  }
}

/** @param {ApiError} error */
function isPassing({ status, code }) {
  return PASSING.has(status) || code === "upload_cut" || (status === 409 && code.startsWith("upload_"));
}

/** On plain http, as on a local network, a browser has no randomUUID. */
function createId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
