// @ts-check
// The page of one view: a list that follows what comes, and all of the capture that is chosen.
import { CaptureApi } from "./capture_api.js";
import { CaptureDetail } from "./capture_detail.js";
import { byId, element, saveFile } from "./capture_dom.js";
import { toHar, toJsonLines } from "./capture_export.js";
import { CaptureList } from "./capture_list.js";
import { ReplayDialog } from "./capture_replay.js";
import { byteText, matches } from "./capture_text.js";

/** @typedef {import("../../../../common/captures/capture_json.ts").OpenedCaptureJson} Capture */
/** @typedef {import("./capture_types.ts").Filter} Filter */

const PAGE = 500;
/** Captures that are exported, and bytes of their bodies that are taken along. */
const MAX_EXPORTED = 10_000;
const MAX_EXPORTED_BODY = 4 * 1024 * 1024;
/** A page may be left open for days: older ones are asked for again by who scrolls to them. */
const MAX_LISTED = 20_000;
const TYPING_MS = 250;
/** As in the stylesheet: list and detail take each other's place. */
const NARROW = matchMedia("(max-width: 48rem)");

// They lie beside this file where it is served, and not where it is written.
const { href } = new URL("./", import.meta.url);
/** @type {typeof import("../../../../common/readable/readable_body.js")} */
const { readBody } = await import(`${href}readable_body.js`);
/** @type {typeof import("../../../../common/readable/hex_lines.js")} */
const { hexLines } = await import(`${href}hex_lines.js`);

const root = byId("captures", HTMLElement);
const { view: viewId = "", captureUrl = "", version = "" } = root.dataset;
const api = new CaptureApi(viewId);
const state = byId("capture-state", HTMLElement), empty = byId("capture-empty", HTMLElement);
const noneFound = byId("capture-none-found", HTMLElement);
const filterForm = byId("capture-filter", HTMLFormElement), pause = byId("capture-pause", HTMLButtonElement);
const readers = { readBody, hexLines };
const replay = new ReplayDialog(viewId, api, readers);
const detail = new CaptureDetail(
  byId("capture-detail", HTMLElement),
  api,
  captureUrl,
  readers,
  (capture) => replay.open(capture),
  onRemoved,
);
const list = new CaptureList(byId("capture-list", HTMLElement), choose, () => void loadMore());

/** Newest first. @type {Capture[]} */
let captures = [];
/** What to look before for more; null when all is there. @type {number | null} */
let next = null;
let isLoading = false;
/** Changes with the filter: what was asked for before it counts no more. */
let turn = 0;
/** The newest cursor that was seen, whether it was shown or not. */
let newest = Number(root.dataset.after);
let stopFollowing = () => {};

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
    // What has come while this was asked for was put in front.
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

function showCount() {
  const isSearch = Object.values(readFilter()).some((text) => text !== "");
  empty.hidden = captures.length > 0 || isSearch;
  noneFound.hidden = captures.length > 0 || !isSearch || next !== null;
  const count = `${captures.length}${next === null ? "" : "+"} ${captures.length === 1 ? "call" : "calls"}`;
  say(pause.getAttribute("aria-pressed") === "true" ? `${count}, paused` : count);
}

/** @param {Capture} capture */
function onCapture(capture) {
  newest = Math.max(newest, capture.cursor);
  if (!matches(capture, readFilter()) || captures.some(({ cursor }) => cursor === capture.cursor)) return;
  // Its body is asked for when it is looked at.
  const { body: _, ...head } = capture;
  list.prepend([head]);
  if (captures.length > MAX_LISTED) {
    captures.pop();
    next = captures[captures.length - 1].cursor;
  }
  showCount();
}

function follow() {
  stopFollowing();
  stopFollowing = api.follow(newest, onCapture, (isOpen) => isOpen ? showCount() : say("Connecting again…"));
}

/** @param {Capture} capture */
function choose(capture) {
  list.choose(capture.id);
  root.classList.add("chosen");
  detail.show(capture.id).then(() => {
    if (NARROW.matches) root.scrollIntoView();
  }).catch(complain);
}

/** @param {string} id */
function onRemoved(id) {
  captures = captures.filter((capture) => capture.id !== id);
  list.show(captures);
  list.choose(null);
  root.classList.remove("chosen");
  detail.clear();
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
byId("capture-search-all", HTMLButtonElement).addEventListener("click", () => {
  filterForm.reset();
  void reload();
  filterForm.querySelector("input")?.focus();
});
pause.addEventListener("click", () => {
  const isPaused = pause.getAttribute("aria-pressed") !== "true";
  pause.setAttribute("aria-pressed", String(isPaused));
  pause.textContent = isPaused ? "Go on" : "Pause";
  if (isPaused) stopFollowing();
  else follow();
  showCount();
});
byId("export-har", HTMLButtonElement).addEventListener("click", () => void exportAll("har").catch(complain));
byId("export-jsonl", HTMLButtonElement).addEventListener("click", () => void exportAll("jsonl").catch(complain));
byId("capture-back", HTMLButtonElement).addEventListener("click", () => {
  root.classList.remove("chosen");
  byId("capture-list", HTMLElement).focus();
});
detail.clear();
void reload().then(follow);
root.append(element("span", { hidden: "", id: "capture-ready" }));
