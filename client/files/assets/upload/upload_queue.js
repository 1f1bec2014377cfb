// @ts-check
// The queue of uploads: several files at a time, large ones in slices, and whatever a cut of the network, a reload of
// the page or a restart of the share broke off is taken up again where it stopped.

import { ApiError } from "../parts/api.js";
import { UploadSender } from "./upload_sender.js";

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
  #sender;

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
    this.#on = { change: onchange, finished: onfinished };
    this.#sender = new UploadSender({
      transport,
      memory,
      set: (item, state) => this.#set(item, state),
      onprogress: onchange,
      onconflict,
      takeOver: (item, id) => this.#takeOver(item, id),
    });
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
      if (item.source === null) await this.#sender.makeFolder(item.names, signal);
      else if (!await this.#sender.send(item, item.source, signal)) return this.#set(item, "skipped");
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
   * @param {UploadItem} item
   * @param {string} id
   */
  #takeOver(item, id) {
    for (const other of this.items) {
      if (other === item || other.id !== id) continue;
      if (other.state !== "lost") return false;
      this.items.delete(other);
    }
    return true;
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

/** On plain http, as on a local network, a browser has no randomUUID. */
function createId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
