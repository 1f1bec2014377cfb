// @ts-check
// What the panel says of uploads: how many, how far, how fast.

import { formatCount, formatSize, formatSpan } from "../../../../web/browser/format.js";
import { MOVING } from "./upload_queue.js";

/**
 * @typedef {import("./upload_queue.js").UploadItem} UploadItem
 * @typedef {import("./upload_queue.js").State} State
 */

/** Rows shown at most; a folder of thousands of files needs no row for each. */
const MAX_ROWS = 60;
/** @type {readonly State[]} */
const ORDER = ["failed", "asking", "sending", "retrying", "lost", "paused", "waiting", "skipped", "done"];
/** @type {Readonly<Partial<Record<State, string>>>} */
const WORDS = {
  waiting: "Waiting",
  retrying: "Connection lost, trying again…",
  asking: "There is one already",
  done: "Done",
  failed: "Failed",
  skipped: "Skipped",
};

/**
 * How an upload stands, in a few words.
 * @param {Pick<UploadItem, "state" | "size" | "sent" | "problem">} item
 */
export function describeItem({ state, size, sent, problem }) {
  const words = problem || WORDS[state];
  if (words !== undefined) return words;
  const amount = `${formatSize(sent)}${size === null ? "" : ` of ${formatSize(size)}`}`;
  if (state === "lost") return `Interrupted at ${amount}: choose the file again to go on`;
  return state === "paused" ? `Paused at ${amount}` : amount;
}

/**
 * How many items there are of some states, how many move, and how many may still become uploads by themselves.
 * @typedef {{ failed: number, done: number, paused: number, sending: number, retrying: number, lost: number,
 *   moving: number, open: number }} Counts
 */

/**
 * @param {readonly UploadItem[]} items
 * @returns {Counts}
 */
export function countItems(items) {
  /** @type {Map<State, number>} */
  const counts = new Map();
  for (const { state } of items) counts.set(state, (counts.get(state) ?? 0) + 1);
  /** @param {State} state */
  const count = (state) => counts.get(state) ?? 0;
  const moving = MOVING.reduce((sum, state) => sum + count(state), 0);
  return {
    failed: count("failed"),
    done: count("done"),
    paused: count("paused"),
    sending: count("sending"),
    retrying: count("retrying"),
    lost: count("lost"),
    moving,
    open: moving + count("paused"),
  };
}

/**
 * Bytes sent, bytes in all or null while they are not known, and the share that is done, 0 to 1.
 * @typedef {{ sent: number, total: number | null, share: number }} Progress
 */

/**
 * @param {readonly UploadItem[]} items
 * @returns {Progress}
 */
export function measure(items) {
  let [sent, total, ended] = [0, 0, 0];
  let isKnown = true;
  for (const item of items) {
    // What of a failed file went out is of no use to anybody.
    sent += item.state === "done" ? item.size ?? 0 : item.state === "failed" ? 0 : item.sent;
    // Of a dropped folder the sizes come to light one by one; until then files are counted.
    if (item.size === null) isKnown = false;
    else total += item.size;
    if (item.state === "done" || item.state === "skipped") ended++;
  }
  const share = isKnown && total > 0 ? sent / total : ended / Math.max(1, items.length);
  return { sent, total: isKnown ? total : null, share: Math.min(1, share) };
}

/** @param {Counts} counts */
export function nameState({ moving, open, failed, done, lost }) {
  if (open > 0) {
    const state = moving > 0 ? `Uploading ${formatCount(open, "file")}` : `${formatCount(open, "upload")} paused`;
    return failed > 0 ? `${state}, ${failed.toLocaleString()} failed` : state;
  }
  if (failed > 0) return `${formatCount(failed, "upload")} failed`;
  return lost > 0 ? `${formatCount(lost, "upload")} interrupted` : `${formatCount(done, "file")} uploaded`;
}

/**
 * @param {Counts} counts
 * @param {Progress} progress
 * @param {number} perSecond
 */
export function describeProgress(counts, { sent, total }, perSecond) {
  const parts = [total === null ? formatSize(sent) : `${formatSize(sent)} of ${formatSize(total)}`];
  if (counts.retrying) parts.push("trying again…");
  else if (counts.sending && perSecond > 0) {
    parts.push(`${formatSize(perSecond)}/s`);
    if (total !== null) parts.push(`${formatSpan((total - sent) / perSecond)} left`);
  }
  return parts.join(" · ");
}

/**
 * The items that matter most, as many as are shown.
 * @param {readonly UploadItem[]} items
 */
export function pickRows(items) {
  /** @type {Map<State, UploadItem[]>} */
  const byState = new Map(ORDER.map((state) => [state, []]));
  for (const item of items) byState.get(item.state)?.push(item);
  byState.get("done")?.reverse();
  return ORDER.flatMap((state) => byState.get(state) ?? []).slice(0, MAX_ROWS);
}

/** Bytes a second over the last few seconds. */
export class Speed {
  /** @type {[number, number][]} */
  #samples = [];

  /** Forgets what was before a rest. */
  reset() {
    this.#samples = [];
  }

  /** @param {number} sent */
  measure(sent) {
    const now = performance.now();
    this.#samples.push([now, sent]);
    while (this.#samples.length > 2 && now - this.#samples[0][0] > 4000) this.#samples.shift();
    const [then, before] = this.#samples[0];
    return now - then < 300 ? 0 : Math.max(0, ((sent - before) * 1000) / (now - then));
  }
}
