// @ts-check
// A view's page: a live list with the captured calls, and the chosen call's details.
import { CaptureApi } from "./capture_api.js";
import { CaptureDetail } from "./capture_detail.js";
import { find, h, saveFile } from "../../../../web/browser/dom.js";
import { toHar, toJsonLines } from "./capture_export.js";
import { CaptureList } from "./capture_list.js";
import { ReplayDialog } from "./capture_replay.js";
import { byteText } from "../../../../web/viewer/text.js";
import { describeCount, matches } from "./capture_text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("./capture_types.ts").Filter} Filter */

const PAGE = 500;
/** Most captures in an export, and most bytes in one exported body. */
const MAX_EXPORTED = 10_000;
const MAX_EXPORTED_BODY = 4 * 1024 * 1024;
/** Most captures in the list while a page stays open for days. Scrolling down loads older ones again. */
const MAX_LISTED = 20_000;
const TYPING_MS = 250;
/** How long the page offers to restore a call. The server can restore it for ten minutes. */
const UNDO_MS = 60_000;
/** As in the stylesheet: list and details replace each other. */
const NARROW = matchMedia("(max-width: 48rem)");

const root = find("#captures", HTMLElement);
const { view: viewId = "", captureUrl = "", version = "", chosen = "" } = root.dataset;
const pageUrl = `/views/${viewId}/capture`, maxCaptures = Number(root.dataset.max);
const api = new CaptureApi(viewId);
const state = find("#capture-state", HTMLElement), empty = find("#capture-empty", HTMLElement);
const noneFound = find("#capture-none-found", HTMLElement), undo = find("#capture-undo", HTMLElement);
const filterForm = find("#capture-filter", HTMLFormElement), pause = find("#capture-pause", HTMLButtonElement);
const replay = new ReplayDialog(viewId, api);
const detail = new CaptureDetail(find("#capture-detail", HTMLElement), {
  api,
  captureUrl,
  onReplay: (capture, loadBody) => replay.open(capture, loadBody),
  onRemove: remove,
});
const list = new CaptureList(find("#capture-list", HTMLElement), onChosen, () => void loadMore());

/** Newest first. @type {Capture[]} */
let captures = [];
/** The cursor before which more captures are, or null. @type {number | null} */
let next = null;
let isLoading = false;
/** Counts filters, so that a late response for an earlier filter is dropped. */
let turn = 0;
/** The newest cursor that was received, shown or not. */
let newest = Number(root.dataset.after);
/** The view's captures, shown or hidden by the filter. */
let total = Number(root.dataset.total);
let stopFollowing = () => {};
/** The deleted call that Undo restores. @type {{ capture: Capture, timer: ReturnType<typeof setTimeout> } | null} */
let removed = null;

/** @returns {Filter} */
function readFilter() {
  const fields = new FormData(filterForm);
  const text = (/** @type {string} */ name) => String(fields.get(name) ?? "").trim();
  const time = (/** @type {string} */ name) => text(name) === "" ? "" : new Date(text(name)).toISOString();
  return { q: text("q"), method: text("method").toUpperCase(), path: text("path"), from: time("from"), to: time("to") };
}

/** @param {string} text */
function say(text) {
  state.textContent = text;
}

/** @param {unknown} error */
function complain(error) {
  say(error instanceof Error ? error.message : String(error));
}

async function reload() {
  turn++;
  captures = [];
  next = Infinity;
  isLoading = false;
  await loadMore();
}

async function loadMore() {
  if (isLoading || next === null) return;
  isLoading = true;
  const asked = turn;
  try {
    /** @type {Record<string, string>} */
    const more = { limit: String(PAGE) };
    if (next !== Infinity) more.before = String(next);
    const page = await api.list(readFilter(), more);
    if (asked !== turn) return;
    captures.push(...page.captures);
    next = page.next;
    // Captures that arrived during the request are in front already.
    captures = [...new Map(captures.map((capture) => [capture.cursor, capture])).values()]
      .sort((a, b) => b.cursor - a.cursor);
    newest = Math.max(newest, captures[0]?.cursor ?? 0);
    list.show(captures);
    showCount();
  } catch (error) {
    if (asked === turn) next = null;
    complain(error);
  } finally {
    if (asked === turn) isLoading = false;
  }
}

const isFiltered = () => Object.values(readFilter()).some((text) => text !== "");

function showCount() {
  const isSearch = isFiltered();
  // A complete list is exact, also after deletions in another window.
  if (!isSearch && next === null) total = captures.length;
  empty.hidden = captures.length > 0 || isSearch;
  noneFound.hidden = captures.length > 0 || !isSearch || next !== null;
  const count = describeCount(captures.length, isSearch ? null : total, next === null);
  say(pause.getAttribute("aria-pressed") === "true" ? `${count}, paused` : count);
}

/** @param {Capture} capture */
function onCapture(capture) {
  if (capture.cursor > newest) total = Math.min(total + 1, maxCaptures);
  newest = Math.max(newest, capture.cursor);
  if (!matches(capture, readFilter()) || captures.some(({ cursor }) => cursor === capture.cursor)) return showCount();
  // The body is loaded with the details.
  const { body: _, ...head } = capture;
  list.prepend([head]);
  if (captures.length > MAX_LISTED) {
    captures.pop();
    next = captures[captures.length - 1].cursor;
  }
  showCount();
  openNewest();
}

function follow() {
  stopFollowing();
  stopFollowing = api.follow(newest, onCapture, (isOpen) => isOpen ? showCount() : say("Connecting again…"));
}

/** Opens the newest call beside the list, unless a call is open. The list's address stays. */
function openNewest() {
  if (captures.length > 0 && detail.shownId === null && !NARROW.matches) show(captures[0].id);
}

/**
 * Opens the call that was chosen in the list and gives it its own address. Arrow keys replace the address, so that
 * Back does not return through every row.
 * @param {Capture} capture
 * @param {boolean} isKey
 */
function onChosen({ id }, isKey) {
  const url = `${pageUrl}/${id}`;
  if (location.pathname !== url) {
    const isCall = location.pathname !== pageUrl;
    history[isKey && isCall ? "replaceState" : "pushState"]({ isChosen: true }, "", url);
  }
  show(id);
}

/** @param {string} id */
function show(id) {
  list.choose(id);
  if (location.pathname !== pageUrl) root.classList.add("chosen");
  detail.show(id).then(() => {
    if (NARROW.matches) root.scrollIntoView();
  }).catch((error) => {
    detail.clear();
    complain(error);
  });
}

/** Shows the call in the address, or the list. */
function showAddress() {
  const id = location.pathname.startsWith(`${pageUrl}/`) ? location.pathname.slice(pageUrl.length + 1) : "";
  if (id !== "") return show(id);
  root.classList.remove("chosen");
  list.choose(null);
  detail.clear();
  openNewest();
}

function backToList() {
  if (history.state?.isChosen === true) return history.back();
  history.replaceState(null, "", pageUrl);
  showAddress();
}

/**
 * Deletes a call, and offers to restore it.
 * @param {Capture} capture
 */
async function remove(capture) {
  await api.remove(capture.id);
  clearTimeout(removed?.timer);
  removed = { capture, timer: setTimeout(endUndo, UNDO_MS) };
  captures = captures.filter(({ id }) => id !== capture.id);
  total--;
  list.show(captures);
  undo.hidden = false;
  history.replaceState(history.state, "", pageUrl);
  showAddress();
  showCount();
}

function endUndo() {
  clearTimeout(removed?.timer);
  removed = null;
  undo.hidden = true;
}

/** @param {Capture} capture */
function restore(capture) {
  total++;
  captures = [...captures, capture].sort((a, b) => b.cursor - a.cursor);
  list.show(captures);
  showCount();
}

/** @param {"har" | "jsonl"} kind */
async function exportAll(kind) {
  /** @type {Capture[]} */
  const all = [];
  /** @type {number | null} */
  let before = Infinity;
  while (before !== null && all.length < MAX_EXPORTED) {
    /** @type {Record<string, string>} */
    const more = { bodies: "true", limit: "50", ...(before === Infinity ? {} : { before: String(before) }) };
    const page = await api.list(readFilter(), more);
    for (const capture of page.captures) all.push(await withBody(capture));
    before = page.next;
    say(`Exporting ${all.length} calls…`);
  }
  if (kind === "har") saveFile("captures.har", [toHar(all.reverse(), captureUrl, version)]);
  else saveFile("captures.jsonl", [toJsonLines(all.reverse())]);
  showCount();
}

/** @param {Capture} capture */
async function withBody(capture) {
  if (!capture.bodyTruncated || capture.bodySize > MAX_EXPORTED_BODY) return capture;
  const { bodyTruncated: _, ...whole } = capture;
  return { ...whole, body: btoa(byteText(await api.getBody(capture.id))) };
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;
filterForm.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => void reload(), TYPING_MS);
});
filterForm.addEventListener("submit", (event) => {
  event.preventDefault();
  void reload();
});
find("#capture-search-all", HTMLButtonElement).addEventListener("click", () => {
  filterForm.reset();
  void reload();
  filterForm.querySelector("input")?.focus();
});
pause.addEventListener("click", () => {
  const isPaused = pause.getAttribute("aria-pressed") !== "true";
  pause.setAttribute("aria-pressed", String(isPaused));
  pause.textContent = isPaused ? "Resume" : "Pause";
  if (isPaused) stopFollowing();
  else follow();
  showCount();
});
find("#export-har", HTMLButtonElement).addEventListener("click", () => void exportAll("har").catch(complain));
find("#export-jsonl", HTMLButtonElement).addEventListener("click", () => void exportAll("jsonl").catch(complain));
find("#capture-back", HTMLButtonElement).addEventListener("click", () => {
  backToList();
  find("#capture-list", HTMLElement).focus();
});
find("#capture-undo-button", HTMLButtonElement).addEventListener("click", () => {
  if (removed === null) return;
  const { capture } = removed;
  endUndo();
  api.restore(capture.id).then(() => {
    restore(capture);
    onChosen(capture, false);
  }).catch(complain);
});
addEventListener("popstate", showAddress);
detail.clear();
if (chosen !== "") show(chosen);
void reload().then(() => {
  openNewest();
  follow();
});
root.append(h("span", { hidden: "", id: "capture-ready" }));
