// @ts-check
// What the page changes in the share: with progress, to the end whatever fails in between, and with a way back.

import {
  ApiError,
  emptyTrash,
  getCode,
  requestFolder,
  requestMove,
  requestRemoval,
  restoreEntry,
  tellFailure,
  toPath,
  trashEntry,
} from "../parts/api.js";
import { runBatch } from "./batch.js";
import { askName, checkName, confirm, tell } from "../../../../web/browser/dialogs.js";
import { formatCount, formatName, formatNames, nextName } from "../../../../web/browser/format.js";
import { chooseFolder, ConflictQuestion, showTrash } from "./questions.js";
import { showProgress, toast } from "../../../../web/browser/toast.js";

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 * @typedef {import("../parts/api.js").Names} Names
 * @typedef {import("./batch.js").Choice} Choice
 *
 * What was moved from where to where, and what made room for it (an id in the trash).
 * @typedef {{ from: Names, to: Names, replaced: string | null }} Moved
 */

/**
 * @template T
 * @typedef {import("./batch.js").Outcome<T>} Outcome
 */

/** Names tried beside one that is taken. */
const MAX_NAMES = 200;

/** The changes of a share; `refresh` shows the folder as it is afterwards. */
export class Changes {
  #shareName;
  #refresh;

  /**
   * @param {string} shareName
   * @param {() => Promise<unknown>} refresh
   */
  constructor(shareName, refresh) {
    this.#shareName = shareName;
    this.#refresh = refresh;
  }

  /**
   * @param {Names} folder
   * @param {(name: string) => boolean} isTaken
   */
  async newFolder(folder, isTaken) {
    const check = (/** @type {string} */ name) => checkName(name) ?? checkFree(isTaken(name));
    const name = await askName({ title: "New folder", label: "Name", action: "Make folder", check });
    if (name !== null) await this.#attempt(() => requestFolder([...folder, name]));
  }

  /**
   * @param {Names} from
   * @param {(name: string) => boolean} isTaken
   */
  async rename(from, isTaken) {
    const old = from.at(-1) ?? "";
    const check = (/** @type {string} */ name) => checkName(name) ?? checkFree(name !== old && isTaken(name));
    const name = await askName({ title: "Rename", label: "New name", value: old, action: "Rename", check });
    if (name !== null && name !== old) await this.#attempt(() => requestMove(from, [...from.slice(0, -1), name]));
  }

  /**
   * Asks where to, and moves.
   * @param {readonly Names[]} moved
   * @param {Names} start
   */
  async askAndMove(moved, start) {
    const target = await chooseFolder({ moved, start, shareName: this.#shareName });
    if (target !== null) await this.move(moved, target);
  }

  /**
   * @param {readonly Names[]} moved
   * @param {Names} target
   */
  async move(moved, target) {
    const question = new ConflictQuestion();
    /** @type {Moved[]} */
    const log = [];
    const outcome = await this.#run("Moving", moved, {
      work: async (from, choice) => void log.push(await moveInto(from, target, choice)),
      onconflict: (from) => question.ask(from.at(-1) ?? "", { verb: "move" }),
    });
    const place = formatName(target.at(-1) ?? this.#shareName);
    if (log.length > 0) {
      const what = log.length === 1 ? `“${formatName(log[0].to.at(-1) ?? "")}”` : formatCount(log.length, "item");
      const action = { label: "Undo", run: () => this.#undoMoves(log) };
      toast(`Moved ${what} to “${place}”.`, { action });
    }
    await tellFailures("moved", outcome, moved.length, (from) => from);
  }

  /** @param {readonly Moved[]} log */
  async #undoMoves(log) {
    const outcome = await this.#run("Moving back", [...log].reverse(), {
      work: async ({ from, to, replaced }) => {
        await requestMove(to, from);
        if (replaced !== null) await restoreEntry(replaced);
      },
    });
    await tellFailures("moved back", outcome, log.length, ({ to }) => to);
  }

  /** @param {readonly Names[]} removed */
  async remove(removed) {
    if (removed.length === 0) return;
    const what = removed.length === 1
      ? `“${formatName(removed[0].at(-1) ?? "")}”`
      : formatCount(removed.length, "item");
    const text = "Folders go with all that is in them. What is deleted can be put back for an hour.";
    if (!await confirm({ title: `Delete ${what}?`, text, action: "Delete" })) return;
    /** @type {string[]} */
    const trashed = [];
    /** @type {Names[]} */
    const stuck = [];
    const outcome = await this.#run("Deleting", removed, {
      work: async (names) => {
        try {
          trashed.push(await trashEntry(names));
        } catch (error) {
          if (getCode(error) !== "no_trash") throw error;
          stuck.push(names);
        }
      },
    });
    if (trashed.length > 0) {
      const count = trashed.length === 1 ? what : formatCount(trashed.length, "item");
      const action = { label: "Undo", run: () => this.#restore(trashed) };
      toast(`Deleted ${trashed.length === removed.length ? what : count}.`, { action });
    }
    await tellFailures("deleted", outcome, removed.length, (way) => way);
    if (stuck.length > 0) await this.#removeForGood(stuck);
  }

  /** @param {readonly Names[]} names */
  async #removeForGood(names) {
    const title = `Delete ${formatNames(names.map((way) => way.at(-1) ?? ""))} for good?`;
    const text = "There is no room to keep this for a while. This cannot be undone.";
    if (!await confirm({ title, text, action: "Delete for good" })) return;
    const outcome = await this.#run("Deleting", names, { work: (way) => requestRemoval(way) });
    await tellFailures("deleted", outcome, names.length, (way) => way);
  }

  /** @param {readonly string[]} ids */
  async #restore(ids) {
    /** @type {string[]} */
    const restored = [];
    const outcome = await this.#run("Putting back", ids, {
      work: async (id) => void restored.push(await restoreEntry(id)),
    });
    if (restored.length > 0) toast(`Put back ${formatCount(restored.length, "item")}.`);
    if (outcome.failed.length > 0) toast(outcome.failed[0].reason, { isProblem: true });
  }

  /** Shows what was deleted, to be put back. */
  async showTrash() {
    try {
      await showTrash({
        restore: (items) => this.#restore(items.map(({ id }) => id)),
        empty: () => emptyTrash(),
      });
    } catch (error) {
      toast(tellFailure(error), { isProblem: true });
    }
  }

  /**
   * @template T
   * @param {string} verb
   * @param {readonly T[]} items
   * @param {{ work: (item: T, choice: Choice | null) => Promise<void>, onconflict?: (item: T) => Promise<Choice> }} options
   * @returns {Promise<Outcome<T>>}
   */
  async #run(verb, items, options) {
    const stopping = new AbortController();
    const progress = showProgress(() => stopping.abort());
    const outcome = await runBatch(items, {
      ...options,
      signal: stopping.signal,
      onprogress: (done) =>
        progress.update(
          `${verb} ${(done + 1).toLocaleString()} of ${items.length.toLocaleString()}…`,
          done / items.length,
        ),
    });
    progress.close();
    await this.#refresh();
    return outcome;
  }

  /**
   * Runs a change and shows the folder as it is then, or why it could not be.
   * @param {() => Promise<void>} change
   */
  async #attempt(change) {
    try {
      await change();
    } catch (error) {
      toast(tellFailure(error), { isProblem: true });
    }
    await this.#refresh();
  }
}

/** @param {boolean} isTaken */
function checkFree(isTaken) {
  return isTaken ? "Something of that name is already here." : null;
}

/**
 * @param {Names} from
 * @param {Names} folder
 * @param {Choice | null} choice
 * @returns {Promise<Moved>}
 */
async function moveInto(from, folder, choice) {
  const to = [...folder, from.at(-1) ?? ""];
  if (toPath(from, false) === toPath(to, false)) throw new ApiError(409, "in_place", "It is in this folder already.");
  if (choice === "keep") return await moveBeside(from, to);
  if (choice !== "replace") {
    await requestMove(from, to);
    return { from, to, replaced: null };
  }
  // Into the trash and not over it: then it can be put back.
  const replaced = await trashEntry(to);
  try {
    await requestMove(from, to);
  } catch (error) {
    await restoreEntry(replaced);
    throw error;
  }
  return { from, to, replaced };
}

/**
 * Moves to the first name after `taken` that is free.
 * @param {Names} from
 * @param {Names} taken
 * @returns {Promise<Moved>}
 */
async function moveBeside(from, taken) {
  let to = taken;
  for (let tries = 0;; tries++) {
    to = [...to.slice(0, -1), nextName(to.at(-1) ?? "")];
    try {
      await requestMove(from, to);
      return { from, to, replaced: null };
    } catch (error) {
      if (getCode(error) !== "already_exists" || tries >= MAX_NAMES) throw error;
    }
  }
}

/**
 * @template T
 * @param {string} verb
 * @param {Outcome<T>} outcome
 * @param {number} total
 * @param {(item: T) => Names} toNames
 */
async function tellFailures(verb, { failed, isStopped, done, skipped }, total, toNames) {
  if (isStopped) toast(`Stopped: ${done.length.toLocaleString()} of ${total.toLocaleString()} ${verb}.`);
  if (failed.length === 0) return;
  const lines = failed.map(({ item, reason }) => `${formatName(toNames(item).at(-1) ?? "")}: ${reason}`);
  if (total === 1) return toast(lines[0], { isProblem: true });
  const left = skipped.length > 0 ? ` ${formatCount(skipped.length, "item")} skipped.` : "";
  const text = `The other ${formatCount(done.length, "item")} ${done.length === 1 ? "was" : "were"} ${verb}.${left}`;
  await tell({ title: `${formatCount(failed.length, "item")} could not be ${verb}`, text, lines });
}
