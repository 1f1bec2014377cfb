// @ts-check
// The page of a share: puts the parts together and decides what happens when.

import {
  ApiError,
  fetchFolder,
  fetchSearch,
  isAbort,
  readHash,
  signOut,
  tellFailure,
  toHash,
  toNames,
  toPath,
} from "./api.js";
import { Changes } from "./changes.js";
import { find, getTarget, h, icon } from "./dom.js";
import { installDragMove } from "./drag_move.js";
import { acceptDrops, readFiles } from "./drop.js";
import { FolderState } from "./folder_state.js";
import { FolderWatch } from "./folder_watch.js";
import { formatCount, formatName, formatNames, formatSize } from "./format.js";
import { Frame } from "./frame.js";
import { findIndex, hasLetters, readKey } from "./keys.js";
import { ListView } from "./list_view.js";
import { openMenu } from "./menu.js";
import { Preview } from "./preview.js";
import { ConflictQuestion, showHelp } from "./questions.js";
import { toast } from "./toast.js";
import { answerOthers, findUnsent, UploadMemory } from "./upload_memory.js";
import { UploadPanel } from "./upload_panel.js";
import { UploadQueue } from "./upload_queue.js";
import { findOffset, transport } from "./upload_transport.js";

/**
 * @typedef {import("./api.js").Entry} Entry
 * @typedef {import("./api.js").Names} Names
 * @typedef {import("./list_view.js").Layout} Layout
 * @typedef {import("./list_view.js").Point} Point
 */

/** @type {{ share: import("./api.js").Share, entries: Entry[], isPartial?: boolean }} */
const { share, entries, isPartial = false } = JSON.parse(find("#data", HTMLScriptElement).textContent ?? "");
const LAYOUT_KEPT_AS = "portway-layout";

/** @type {Names} */
let names = toNames(location.pathname);
let searched = readQuery();
let loading = new AbortController();

const state = new FolderState(update, localStorage);
const list = new ListView(state, {
  open,
  menu: showMenu,
  toHref: (entry) => toPath(resolve(entry), entry.kind === "folder"),
});
const changes = new Changes(share.name, refresh);
const preview = new Preview({ step: stepPreview, onclose: forgetHash, follow: followLink });
const frame = new Frame(share, {
  filter,
  search,
  navigate,
  pickFiles: () => pick(false),
  pickFolder: () => pick(true),
  newFolder,
  zipAll,
  zipSelected: () => zip(state.chosen),
  moveSelected: () => moveEntries(state.chosen),
  removeSelected: () => removeEntries(state.chosen),
  selectAll: () => state.selectAll(),
  clearSelection: () => {
    state.clearSelection();
    list.focus();
  },
  toggleLayout: () => setLayout(list.layout === "tiles" ? "lines" : "tiles"),
  showTrash: async () => {
    await changes.showTrash();
  },
  showHelp,
  leave,
});
const memory = new UploadMemory(localStorage);
const conflicts = new ConflictQuestion();
const queue = new UploadQueue({
  transport,
  memory: {
    keep: (item, file) => memory.keep(item, file),
    forget: (id) => memory.forget(id),
    find: findInterrupted,
  },
  onchange: () => panel.update(),
  onfinished: scheduleReload,
  onconflict: (item) => conflicts.ask(item.names.at(-1) ?? "", { verb: "upload" }),
});
const panel = new UploadPanel(queue, chooseAgain);
const watch = new FolderWatch(scheduleReload);

find("#app", HTMLElement).append(frame.element);
frame.main.append(list.element);
if (share.writable) installWriting();
addEventListener("popstate", () => followLocation());
addEventListener("keydown", onKey);
installDragMove({
  list: list.element,
  findEntry: (element) => list.findEntry(element),
  take: (entry) => state.selected.has(entry.name) ? state.chosen : [entry],
  toHref: (entry) => toPath(resolve(entry), entry.kind === "folder"),
  findFolder,
  move: (moved, target) => changes.move(moved.map(resolve), target),
  isWritable: share.writable,
});
setLayout(localStorage.getItem(LAYOUT_KEPT_AS) === "tiles" ? "tiles" : "lines");
frame.field.value = searched ?? "";
state.open(entries, "");
if (isPartial) tellPartial(entries.length);
list.focus();
followLocation();

function installWriting() {
  document.body.append(panel.element, frame.dropOverlay);
  acceptDrops(frame.dropOverlay, ({ found, unread }) => {
    addUploads(found);
    if (unread.length > 0) toast(`Not all of ${formatNames(unread)} could be read.`, { isProblem: true });
  });
  addEventListener("beforeunload", (event) => {
    if (queue.isBusy) event.preventDefault();
  });
  const covering = () => {
    const covered = panel.element.hidden ? 0 : panel.element.offsetHeight + 24;
    document.documentElement.style.setProperty("--panel", `${panel.element.hidden ? 0 : panel.element.offsetHeight}px`);
    const upload = frame.element.querySelector(".upload");
    // On a phone the button that uploads stands over the list.
    const isFloating = upload !== null && getComputedStyle(upload).position === "fixed";
    list.setCovered(covered + (isFloating ? 80 : 0));
  };
  new ResizeObserver(covering).observe(panel.element);
  new MutationObserver(covering).observe(panel.element, { attributeFilter: ["hidden"] });
  addEventListener("resize", covering);
  covering();
  answerOthers(() => [...queue.items].filter(({ state }) => state !== "lost").map(({ id }) => id));
  showInterrupted();
}

/**
 * The upload of a file that was broken off; null when there is none, or another window is sending it.
 * @param {Names} names
 * @param {File} file
 */
async function findInterrupted(names, file) {
  const kept = memory.find(names, file);
  return kept !== null && (await findUnsent([kept.id])).length > 0 ? kept : null;
}

/** Shows what an earlier visit began to upload and the share still has a part of. */
async function showInterrupted() {
  const kept = memory.list();
  if (kept.length === 0) return;
  const ids = await findUnsent(kept.map(({ id }) => id));
  for (const upload of kept.filter(({ id }) => ids.includes(id))) {
    try {
      const { offset, isComplete } = await findOffset(upload);
      const isTaken = [...queue.items].some(({ id }) => id === upload.id);
      if (offset === 0 || isComplete) memory.forget(upload.id);
      else if (!isTaken) queue.addLost({ ...upload, sent: offset });
    } catch (error) {
      // Not reachable now, or gone: it is asked about at the next visit, or when the file is added.
      if (!(error instanceof ApiError)) throw error;
    }
  }
}

function update() {
  const selected = state.chosen;
  const bytes = (selected.length > 0 ? selected : state.shown).reduce((sum, entry) => sum + entry.size, 0);
  const count = selected.length > 0
    ? `${formatCount(selected.length, "item")} selected`
    : state.shown.length === state.entries.length
    ? formatCount(state.entries.length, "item")
    : `${state.shown.length.toLocaleString()} of ${formatCount(state.entries.length, "item")}`;
  const summary = bytes > 0 ? `${count} · ${formatSize(bytes)}` : count;
  frame.update({
    names,
    searched,
    selected: selected.length,
    found: state.entries.length,
    summary,
    layout: list.layout,
  });
  list.update(describeEmpty());
}

function describeEmpty() {
  if (searched !== null) return [h("p", {}, `Nothing here is called “${searched}”.`)];
  if (state.filter !== "") {
    return [h("p", {}, "Nothing here has that name."), frame.createSearchButton(state.filter)];
  }
  const hint = share.writable ? "Drop files or folders here to upload them." : "There is nothing in this folder.";
  return [h("span", {}, icon("folder")), h("p", {}, "This folder is empty."), h("small", {}, hint)];
}

/** @param {Layout} layout */
function setLayout(layout) {
  localStorage.setItem(LAYOUT_KEPT_AS, layout);
  list.setLayout(layout);
  update();
}

/**
 * Names of the way to an entry; entries that a search found are named by their path below the folder.
 * @param {Entry} entry
 */
function resolve(entry) {
  return [...names, ...entry.name.split("/")];
}

/** @param {Entry} entry */
async function open(entry) {
  if (entry.kind === "folder") return await navigate(resolve(entry));
  setHash(entry.name);
  await showHash();
}

function readQuery() {
  return new URLSearchParams(location.search).get("search");
}

/**
 * The address of a folder, or of what a search below it finds.
 * @param {Names} place
 * @param {string | null} query
 */
function toAddress(place, query) {
  return toPath(place, true) + (query === null ? "" : `?search=${encodeURIComponent(query)}`);
}

/**
 * Goes to a folder, or to what a search below it finds, as a step in the browser's history.
 * @param {Names} place
 * @param {string | null} query
 */
async function navigate(place, query = null) {
  const address = toAddress(place, query);
  if (address !== location.pathname + location.search || location.hash !== "") history.pushState(null, "", address);
  await followLocation();
}

/** Shows what the address stands for. */
async function followLocation() {
  const target = toNames(location.pathname);
  const query = readQuery();
  if (toAddress(target, query) !== toAddress(names, searched)) {
    frame.field.value = query ?? "";
    if (!await load(target, query)) return;
  }
  document.title = formatName(names.at(-1) ?? share.name);
  watch.follow(searched === null ? toPath(names, true) : null);
  await showHash();
}

/**
 * Shows a folder, or what a search below it finds; false when that failed or something else is to be shown by now.
 * @param {Names} place
 * @param {string | null} query
 */
async function load(place, query = null) {
  loading.abort();
  loading = new AbortController();
  const { signal } = loading;
  frame.setBusy(true);
  try {
    const found = await fetchListing(place, query, signal);
    const isOther = toAddress(place, query) !== toAddress(names, searched);
    names = place;
    searched = query;
    if (isOther) {
      conflicts.forget();
      // Something may have been typed since it was asked for.
      state.open(found.entries, query === null ? frame.field.value : "");
      list.scrollToTop();
    } else state.setEntries(found.entries);
    if (isOther && document.activeElement !== frame.field) list.focus();
    if (found.isPartial) tellPartial(found.entries.length);
    return true;
  } catch (error) {
    report(error);
    return false;
  } finally {
    if (!signal.aborted) frame.setBusy(false);
  }
}

/**
 * @param {Names} place
 * @param {string | null} query
 * @param {AbortSignal} signal
 */
async function fetchListing(place, query, signal) {
  if (query === null) return { ...await fetchFolder(place, signal), isPartial: false };
  const { matches, isPartial } = await fetchSearch(place, query, signal);
  return { entries: matches, isPartial };
}

/** @param {number} count */
function tellPartial(count) {
  toast(`There is more: the first ${count.toLocaleString()} are shown.`);
}

function refresh() {
  return load(names, searched);
}

/** @type {ReturnType<typeof setTimeout> | null} */
let reloadTimer = null;
/** Pause before the list is asked for again, in milliseconds: a share that takes long is asked less often. */
let reloadPause = 700;
const MAX_PAUSE = 30_000;
function scheduleReload() {
  if (reloadTimer !== null) return;
  reloadTimer = setTimeout(() => {
    reloadTimer = null;
    reload();
  }, reloadPause);
}

/** Brings the list up to date without taking the focus or the place. */
async function reload() {
  const asked = names;
  if (searched !== null) return;
  const from = performance.now();
  try {
    const folder = await fetchFolder(asked);
    reloadPause = Math.min(MAX_PAUSE, Math.max(700, 5 * (performance.now() - from)));
    if (asked === names && searched === null) state.setEntries(folder.entries);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Anything but "gone" passes; whatever happens next tries again.
    if (error.status !== 404 || asked !== names || names.length === 0) return;
    toast(`“${formatName(names.at(-1) ?? "")}” is not there any more.`);
    await navigate(names.slice(0, -1));
  }
}

/** @param {string} text */
function filter(text) {
  if (searched === null) state.setFilter(text);
  else if (text === "") navigate(names);
}

/**
 * @param {string} query
 * @param {boolean} isEverywhere
 */
function search(query, isEverywhere) {
  if (query.trim() === "") return;
  if (query === searched && !isEverywhere) refresh();
  else navigate(isEverywhere ? [] : names, query);
}

/** @param {string} name */
function setHash(name) {
  const hash = name === "" ? "" : toHash(name);
  if (location.hash === hash) return;
  const url = toAddress(names, searched) + hash;
  // Stepping through files is one step back; closing leaves no trace of it.
  if (name === "" || location.hash !== "") history.replaceState(null, "", url);
  else history.pushState(null, "", url);
}

/**
 * Takes a file whose preview was closed out of the address, unless that asks for another by now.
 * @param {Entry} entry
 */
function forgetHash(entry) {
  if (readHash(location.hash) === entry.name) setHash("");
  list.focus();
}

/** Opens the preview that the address asks for. */
async function showHash() {
  const name = readHash(location.hash);
  const entry = state.entries.find((entry) => entry.name === name && entry.kind === "file");
  if (entry !== undefined) {
    const index = state.shown.indexOf(entry);
    state.goTo(index);
    if (index >= 0) list.reveal(index);
    preview.show(resolve(entry), entry);
    return;
  }
  preview.close();
  const way = name.split("/").filter((part) => part !== "");
  const file = way.pop();
  if (file === undefined || way.length === 0) return;
  // A hit of a search that is not on show: it can be seen in its folder.
  history.replaceState(null, "", toPath([...names, ...way], true) + toHash(file));
  await followLocation();
}

/** @param {number} direction 1 for the next file, -1 for the one before */
function stepPreview(direction) {
  if (state.current < 0) return;
  for (let index = state.current + direction; index >= 0 && index < state.shown.length; index += direction) {
    if (state.shown[index].kind !== "file") continue;
    setHash(state.shown[index].name);
    showHash();
    return;
  }
}

/**
 * Follows a link of a previewed file to another file or folder of the share.
 * @param {Names} place
 * @param {boolean} isFolder
 */
async function followLink(place, isFolder) {
  const folder = isFolder ? place : place.slice(0, -1);
  const address = toPath(folder, true) + (isFolder ? "" : toHash(place.at(-1) ?? ""));
  history.pushState(null, "", address);
  await followLocation();
}

function goUp() {
  if (searched !== null) navigate(names);
  else if (names.length > 0) navigate(names.slice(0, -1));
}

/** @param {boolean} isFolder */
function pick(isFolder) {
  const input = h("input", { type: "file", multiple: true });
  input.webkitdirectory = isFolder;
  input.addEventListener("change", () => addUploads(readFiles(input.files ?? [])));
  input.click();
}

/** @param {readonly import("./drop.js").Picked[]} found */
function addUploads(found) {
  for (const { names: below, source, size } of found) {
    if (share.maxUpload !== null && size !== null && size > share.maxUpload) {
      const text = `“${formatName(below.at(-1) ?? "")}” is larger than ${
        formatSize(share.maxUpload)
      }, the limit of this share.`;
      toast(text, { isProblem: true });
    } else queue.add([...names, ...below], source, size);
  }
}

/**
 * Asks for the file of an upload that an earlier visit began.
 * @param {import("./upload_queue.js").UploadItem} item
 */
function chooseAgain(item) {
  const input = h("input", { type: "file" });
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    if (file === undefined) return;
    if (memory.find(item.names, file) === null) {
      toast(`“${formatName(file.name)}” is not the file that was begun, or was changed since.`, { isProblem: true });
    } else queue.add(item.names, () => Promise.resolve(file), file.size);
  });
  input.click();
}

/**
 * @param {Entry} entry
 * @param {HTMLElement | Point} at
 */
function showMenu(entry, at) {
  // What is asked for on one of several selected is asked for all of them.
  const chosen = state.selected.has(entry.name) && state.selected.size > 1 ? state.chosen : [entry];
  openMenu(at, chosen.length > 1 ? listForMany(chosen) : listForOne(entry), `Actions for ${formatName(entry.name)}`);
}

/**
 * @param {Entry} entry
 * @returns {import("./menu.js").MenuItem[]}
 */
function listForOne(entry) {
  const isFolder = entry.kind === "folder";
  const path = toPath(resolve(entry), isFolder);
  const way = resolve(entry);
  const items = [
    { icon: isFolder ? "folder" : "file", label: "Open", action: () => open(entry), isShown: true },
    { icon: "open", label: "Open in a tab", action: () => globalThis.open(path, "_blank", "noopener"), isShown: true },
    {
      icon: "download",
      label: isFolder ? "Download as zip" : "Download",
      action: () => location.assign(`${path}?${isFolder ? "zip" : "download"}`),
      isShown: true,
    },
    {
      icon: "folder",
      label: "Show in its folder",
      action: () => navigate(way.slice(0, -1)),
      isShown: searched !== null,
    },
    {
      icon: "rename",
      label: "Rename…",
      action: () => changes.rename(way, isTaken),
      hint: "F2",
      isShown: share.writable,
    },
    { icon: "move", label: "Move…", action: () => moveEntries([entry]), isShown: share.writable },
    {
      icon: "trash",
      label: "Delete…",
      action: () => removeEntries([entry]),
      isDangerous: true,
      hint: "Del",
      isShown: share.writable,
    },
  ];
  return items.filter(({ isShown }) => isShown);
}

/**
 * @param {readonly Entry[]} chosen
 * @returns {import("./menu.js").MenuItem[]}
 */
function listForMany(chosen) {
  const count = formatCount(chosen.length, "item");
  const download = { icon: "download", label: `Download ${count} as zip`, action: () => zip(chosen) };
  if (!share.writable) return [download];
  return [
    download,
    { icon: "move", label: `Move ${count}…`, action: () => moveEntries(chosen) },
    { icon: "trash", label: `Delete ${count}…`, action: () => removeEntries(chosen), isDangerous: true, hint: "Del" },
  ];
}

function newFolder() {
  return changes.newFolder(names, isTaken);
}

/** @param {string} name */
function isTaken(name) {
  return searched === null && state.entries.some((entry) => entry.name === name);
}

/** @param {readonly Entry[]} moved */
function moveEntries(moved) {
  return changes.askAndMove(moved.map(resolve), names);
}

/** @param {readonly Entry[]} removed */
function removeEntries(removed) {
  return changes.remove(removed.map(resolve));
}

/**
 * The folder that a row of the list or a link of the way stands for.
 * @param {Element} element
 */
function findFolder(element) {
  const entry = list.findEntry(element);
  if (entry !== null) return entry.kind === "folder" ? resolve(entry) : null;
  const depth = element instanceof HTMLElement ? element.dataset.depth : undefined;
  return depth === undefined || Number(depth) === names.length ? null : names.slice(0, Number(depth));
}

function zipAll() {
  if (searched === null && state.filter === "") location.assign(`${toPath(names, true)}?zip`);
  else zip(state.shown);
}

/** @param {readonly Entry[]} chosen */
function zip(chosen) {
  if (chosen.length === 1 && chosen[0].kind === "file") {
    location.assign(`${toPath(resolve(chosen[0]), false)}?download`);
    return;
  }
  const form = h("form", { method: "post", action: `${toPath(names, true)}?zip`, hidden: true });
  form.append(...chosen.map(({ name }) => h("input", { type: "hidden", name: "name", value: name })));
  document.body.append(form);
  form.submit();
  form.remove();
}

async function leave() {
  await signOut();
  location.reload();
}

/** @param {unknown} error */
function report(error) {
  if (isAbort(error)) return;
  if (error instanceof ApiError && error.status === 401) location.reload();
  else toast(tellFailure(error), { isProblem: true });
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (document.querySelector("dialog[open]") !== null) return;
  const target = getTarget(event);
  if (target === frame.field) return onFieldKey(event);
  if (target.closest("input:not([type=checkbox]), textarea, select, .uploads")) return;
  // A button, a link or a box that has the focus is pressed with these.
  if (["Enter", " "].includes(event.key) && target.closest("button, a, input")) return;
  const mode = { isWritable: share.writable, hasLetters: hasLetters(), hasTiles: list.layout === "tiles" };
  const read = readKey(event, mode);
  if (read === null) return;
  event.preventDefault();
  if (typeof read === "string") return act(read);
  const place = { current: state.current, count: state.shown.length, columns: list.columns, page: list.pageSize };
  const index = findIndex(read.to, place);
  if (index < 0) return;
  if (read.extends) state.extendTo(index);
  else state.goTo(index);
  list.reveal(index);
  list.focus();
}

/** @param {import("./keys.js").Action} action */
function act(action) {
  const current = state.shown[state.current];
  switch (action) {
    case "open":
      if (current !== undefined) open(current);
      break;
    case "toggle":
      if (current !== undefined) state.toggle(state.current);
      break;
    case "up":
      goUp();
      break;
    case "clear":
      state.clearSelection();
      break;
    case "all":
      state.selectAll();
      break;
    case "search":
      frame.focusSearch();
      break;
    case "help":
      showHelp();
      break;
    case "menu":
      if (current === undefined) break;
      list.reveal(state.current);
      showMenu(current, list.findButton(current.name) ?? { x: 0, y: 0 });
      break;
    case "rename":
      if (current !== undefined) changes.rename(resolve(current), isTaken);
      break;
    case "remove":
      removeEntries(state.chosen.length > 0 ? state.chosen : current === undefined ? [] : [current]);
      break;
    case "newFolder":
      newFolder();
      break;
    case "upload":
      pick(false);
      break;
  }
}

/** @param {KeyboardEvent} event */
function onFieldKey(event) {
  if (event.key === "ArrowDown") {
    event.preventDefault();
    list.focus();
    if (state.current < 0) state.goTo(0);
  } else if (event.key === "Escape") {
    frame.field.value = "";
    frame.field.dispatchEvent(new Event("input"));
    list.focus();
  }
}
