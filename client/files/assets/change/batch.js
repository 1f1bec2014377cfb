// @ts-check
// One change to many entries: what cannot be done does not keep the others from being done.

import { getCode, isAbort, tellFailure } from "../parts/api.js";

/**
 * @typedef {"replace" | "keep" | "skip"} Choice what to do where a name is taken
 */

/**
 * @template T
 * @typedef {{ done: T[], skipped: T[], failed: { item: T, reason: string }[], isStopped: boolean }} Outcome
 */

/**
 * Does `work` for each item, one after the other. Where a name is taken `onconflict` is asked, and `work` is called
 * once more with the choice.
 * @template T
 * @param {readonly T[]} items
 * @param {object} options
 * @param {(item: T, choice: Choice | null) => Promise<void>} options.work
 * @param {(item: T) => Promise<Choice>} [options.onconflict] without it a conflict is a failure
 * @param {(done: number) => void} [options.onprogress]
 * @param {AbortSignal} options.signal ends it between two items
 * @returns {Promise<Outcome<T>>}
 */
export async function runBatch(items, { work, onconflict, onprogress, signal }) {
  /** @type {Outcome<T>} */
  const outcome = { done: [], skipped: [], failed: [], isStopped: false };
  for (const [index, item] of items.entries()) {
    if (signal.aborted) break;
    onprogress?.(index);
    try {
      const isDone = await workOn(item, work, onconflict);
      (isDone ? outcome.done : outcome.skipped).push(item);
    } catch (error) {
      if (!isAbort(error)) outcome.failed.push({ item, reason: tellFailure(error) });
    }
  }
  return { ...outcome, isStopped: signal.aborted };
}

/**
 * Whether it was done, and not left out.
 * @template T
 * @param {T} item
 * @param {(item: T, choice: Choice | null) => Promise<void>} work
 * @param {((item: T) => Promise<Choice>) | undefined} onconflict
 */
async function workOn(item, work, onconflict) {
  try {
    await work(item, null);
    return true;
  } catch (error) {
    if (onconflict === undefined || getCode(error) !== "already_exists") throw error;
  }
  const choice = await onconflict(item);
  if (choice === "skip") return false;
  await work(item, choice);
  return true;
}
