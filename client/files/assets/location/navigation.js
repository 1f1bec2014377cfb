// @ts-check
// Which folder or search the page shows, and which file of it: what its address stands for.

import { ApiError, fetchFolder, fetchSearch, isAbort, readHash, tellFailure, toHash, toPath } from "../parts/api.js";
import { formatName } from "../../../../web/browser/format.js";
import { findAbove, findNextFile, readPlace, toAddress } from "./location.js";
import { toast } from "../../../../web/browser/toast.js";

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 * @typedef {import("../parts/api.js").Names} Names
 * @typedef {import("./location.js").Place} Place
 *
 * The parts of the page that show where it is.
 * @typedef {object} NavigationParts
 * @property {string} shareName
 * @property {import("../list/folder_state.js").FolderState} state
 * @property {import("../list/list_view.js").ListView} list
 * @property {import("../parts/frame.js").Frame} frame
 * @property {import("../preview/preview.js").Preview} preview
 * @property {import("./folder_watch.js").FolderWatch} watch
 * @property {() => void} onleave told before another folder or search is shown
 */

/** The way through the share, with the browser's history. */
export class Navigation {
  #parts;
  #place = readPlace(location);
  #loading = new AbortController();

  /** @param {NavigationParts} parts */
  constructor(parts) {
    this.#parts = parts;
    addEventListener("popstate", () => this.follow());
  }

  /** Names of the folder that is shown, or that is searched. */
  get names() {
    return this.#place.names;
  }

  /** What is searched for, or null. */
  get searched() {
    return this.#place.query;
  }

  /**
   * Names of the way to an entry; entries that a search found are named by their path below the folder.
   * @param {Entry} entry
   */
  resolve(entry) {
    return [...this.names, ...entry.name.split("/")];
  }

  /** @param {Entry} entry */
  async open(entry) {
    if (entry.kind === "folder") return await this.goTo(this.resolve(entry));
    this.#setHash(entry.name);
    await this.#showHash();
  }

  /**
   * Goes to a folder, or to what a search below it finds, as a step in the browser's history.
   * @param {Names} names
   * @param {string | null} query
   */
  async goTo(names, query = null) {
    const address = toAddress({ names, query });
    if (address !== location.pathname + location.search || location.hash !== "") history.pushState(null, "", address);
    await this.follow();
  }

  async goUp() {
    const above = findAbove(this.#place);
    if (above !== null) await this.goTo(above.names);
  }

  /**
   * @param {string} query
   * @param {boolean} isEverywhere
   */
  async search(query, isEverywhere) {
    if (query.trim() === "") return;
    if (query === this.searched && !isEverywhere) await this.refresh();
    else await this.goTo(isEverywhere ? [] : this.names, query);
  }

  /** Shows what the address stands for. */
  async follow() {
    const { frame, watch, shareName } = this.#parts;
    const place = readPlace(location);
    if (toAddress(place) !== toAddress(this.#place)) {
      frame.field.value = place.query ?? "";
      if (!await this.#load(place)) return;
    }
    document.title = formatName(this.names.at(-1) ?? shareName);
    watch.follow(this.searched === null ? toPath(this.names, true) : null);
    await this.#showHash();
  }

  /**
   * Follows a link of a previewed file to another file or folder of the share.
   * @param {Names} names
   * @param {boolean} isFolder
   */
  async followLink(names, isFolder) {
    const folder = isFolder ? names : names.slice(0, -1);
    const address = toPath(folder, true) + (isFolder ? "" : toHash(names.at(-1) ?? ""));
    history.pushState(null, "", address);
    await this.follow();
  }

  refresh() {
    return this.#load(this.#place);
  }

  /** Brings the list up to date without taking the focus or the place; whether it could be asked for. */
  async reload() {
    const asked = this.#place;
    if (asked.query !== null) return false;
    try {
      const folder = await fetchFolder(asked.names);
      if (asked === this.#place) this.#parts.state.setEntries(folder.entries);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // Anything but "gone" passes; whatever happens next tries again.
      if (error.status !== 404 || asked !== this.#place || asked.names.length === 0) return false;
      toast(`“${formatName(asked.names.at(-1) ?? "")}” is not there any more.`);
      await this.goTo(asked.names.slice(0, -1));
      return false;
    }
  }

  /**
   * Shows a folder, or what a search below it finds; false when that failed or something else is to be shown by now.
   * @param {Place} place
   */
  async #load(place) {
    const { frame } = this.#parts;
    this.#loading.abort();
    this.#loading = new AbortController();
    const { signal } = this.#loading;
    frame.setBusy(true);
    try {
      this.#show(place, await fetchListing(place, signal));
      return true;
    } catch (error) {
      report(error);
      return false;
    } finally {
      if (!signal.aborted) frame.setBusy(false);
    }
  }

  /**
   * @param {Place} place
   * @param {{ entries: Entry[], isPartial: boolean }} found
   */
  #show(place, { entries, isPartial }) {
    const { state, list, frame, onleave } = this.#parts;
    const isOther = toAddress(place) !== toAddress(this.#place);
    this.#place = place;
    if (isOther) {
      onleave();
      // Something may have been typed since it was asked for.
      state.open(entries, place.query === null ? frame.field.value : "");
      list.scrollToTop();
    } else state.setEntries(entries);
    if (isOther && document.activeElement !== frame.field) list.focus();
    if (isPartial) tellPartial(entries.length);
  }

  /** @param {string} name */
  #setHash(name) {
    const hash = name === "" ? "" : toHash(name);
    if (location.hash === hash) return;
    const url = toAddress(this.#place) + hash;
    // Stepping through files is one step back; closing leaves no trace of it.
    if (name === "" || location.hash !== "") history.replaceState(null, "", url);
    else history.pushState(null, "", url);
  }

  /**
   * Takes a file whose preview was closed out of the address, unless that asks for another by now.
   * @param {Entry} entry
   */
  forget(entry) {
    if (readHash(location.hash) === entry.name) this.#setHash("");
    this.#parts.list.focus();
  }

  /** Opens the preview that the address asks for. */
  async #showHash() {
    const { state, list, preview } = this.#parts;
    const name = readHash(location.hash);
    const entry = state.entries.find((entry) => entry.name === name && entry.kind === "file");
    if (entry !== undefined) {
      const index = state.shown.indexOf(entry);
      state.goTo(index);
      if (index >= 0) list.reveal(index);
      preview.show(this.resolve(entry), entry);
      return;
    }
    preview.close();
    const way = name.split("/").filter((part) => part !== "");
    const file = way.pop();
    if (file === undefined || way.length === 0) return;
    // A hit of a search that is not on show: it can be seen in its folder.
    history.replaceState(null, "", toPath([...this.names, ...way], true) + toHash(file));
    await this.follow();
  }

  /** @param {number} direction 1 for the next file, -1 for the one before */
  step(direction) {
    const { state } = this.#parts;
    const index = findNextFile(state.shown, state.current, direction);
    if (index < 0) return;
    this.#setHash(state.shown[index].name);
    this.#showHash();
  }
}

/**
 * @param {Place} place
 * @param {AbortSignal} signal
 */
async function fetchListing({ names, query }, signal) {
  if (query === null) return { ...await fetchFolder(names, signal), isPartial: false };
  const { matches, isPartial } = await fetchSearch(names, query, signal);
  return { entries: matches, isPartial };
}

/** @param {number} count of entries that are shown, where there are more */
export function tellPartial(count) {
  toast(`There is more: the first ${count.toLocaleString()} are shown.`);
}

/** @param {unknown} error */
function report(error) {
  if (isAbort(error)) return;
  if (error instanceof ApiError && error.status === 401) location.reload();
  else toast(tellFailure(error), { isProblem: true });
}
