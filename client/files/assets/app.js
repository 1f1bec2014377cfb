// The page of a share: puts the parts together and decides what happens when.

import {
  ApiError,
  fetchFolder,
  fetchSearch,
  makeFolder,
  moveEntry,
  readHash,
  readLocation,
  removeEntry,
  signOut,
  toHash,
  toPath,
} from "./api.js";
import { askName, checkName, confirm, openMenu, toast } from "./dialogs.js";
import { h, icon } from "./dom.js";
import { acceptDrops, readFiles } from "./drop.js";
import { createFolderState } from "./folder_state.js";
import { formatBytes, formatCount, formatName, formatNames } from "./format.js";
import { createFrame } from "./frame.js";
import { askConflict, chooseFolder, showHelp } from "./questions.js";
import { installKeys } from "./keys.js";
import { createListView } from "./list_view.js";
import { createPreview } from "./preview.js";
import { createUploadPanel } from "./upload_panel.js";
import { createUploadQueue } from "./upload_queue.js";

const { share, entries } = JSON.parse(document.querySelector("#data").textContent);
let names = readLocation();
let searched = null;
let loading = new AbortController();

const state = createFolderState(update);
const list = createListView(state, {
  open,
  menu: showMenu,
  toHref: (entry) => toPath(resolve(entry), entry.kind === "folder"),
});
const preview = createPreview({ step: stepPreview, onclose: forgetHash });
const frame = createFrame(share, {
  onfilter: filter,
  onsearch: search,
  navigate,
  pickFiles: () => pick(false),
  pickFolder: () => pick(true),
  newFolder,
  zipAll: () => location.assign(`${toPath(names, true)}?zip`),
  zipSelected,
  moveSelected,
  removeSelected,
  clearSelection: state.clearSelection,
  leave,
});
const queue = share.writable
  ? createUploadQueue({ onchange: () => panel.update(), onfinished: scheduleRefresh, onconflict: askConflict })
  : null;
const panel = createUploadPanel(() => queue);

document.querySelector("#app").append(frame.element);
frame.main.append(list.element);
document.body.append(panel.element);
if (share.writable) {
  document.body.append(frame.dropOverlay);
  acceptDrops(frame.dropOverlay, addDrop);
}
addEventListener("popstate", () => followLocation());
addEventListener("beforeunload", (event) => {
  if (queue?.items.some(({ state }) => ["sending", "retrying", "waiting", "asking"].includes(state))) {
    event.preventDefault();
  }
});
installKeys({
  state,
  list,
  frame,
  preview,
  open,
  goUp,
  newFolder,
  pickFiles: () => pick(false),
  rename,
  removeSelected,
  showHelp,
  share,
});
state.setEntries(entries);
list.focus();
followLocation();

function update() {
  const selected = state.getSelected();
  const bytes = (selected.length > 0 ? selected : state.shown).reduce((sum, entry) => sum + entry.size, 0);
  const count = selected.length > 0
    ? `${formatCount(selected.length, "item")} selected`
    : state.shown.length === state.entries.length
    ? formatCount(state.entries.length, "item")
    : `${state.shown.length.toLocaleString()} of ${formatCount(state.entries.length, "item")}`;
  frame.update({ names, searched, selected, summary: bytes > 0 ? `${count} · ${formatBytes(bytes)}` : count });
  list.update(describeEmpty());
}

function describeEmpty() {
  if (searched !== null) return [icon("search"), h("p", {}, `Nothing below this folder is called “${searched}”.`)];
  if (state.filter !== "") {
    return [icon("search"), h("p", {}, "Nothing here has that name."), frame.createSearchButton(state.filter)];
  }
  const hint = share.writable ? "Drop files or folders here to upload them." : "There is nothing in this folder.";
  return [icon("folder"), h("p", {}, "This folder is empty."), h("small", {}, hint)];
}

/** Names of the way to an entry; entries that a search found are named by their path below the folder. */
function resolve(entry) {
  return [...names, ...entry.name.split("/")];
}

async function open(entry) {
  if (entry.kind === "folder") return await navigate(resolve(entry));
  setHash(entry.name);
  await showHash();
}

/** Goes to a folder, or to what a search below it finds, as a step in the browser's history. */
async function navigate(target, query = null) {
  const path = toPath(target, true);
  if (path !== location.pathname || location.hash !== "" || query !== searched) {
    history.pushState({ query }, "", path);
  }
  await followLocation();
}

/** Shows what the address and its step in the history stand for. */
async function followLocation() {
  const target = readLocation();
  const query = history.state?.query ?? null;
  if (toPath(target, true) !== toPath(names, true) || query !== searched) {
    frame.field.value = query ?? "";
    if (!await load(target, query)) return;
  }
  document.title = formatName(names.at(-1) ?? share.name);
  await showHash();
}

/** Shows a folder, or what a search below it finds; false when that failed or something else is to be shown by now. */
async function load(target, query = null) {
  loading.abort();
  loading = new AbortController();
  const { signal } = loading;
  frame.setBusy(true);
  try {
    const found = query === null ? await fetchFolder(target, signal) : await fetchSearch(target, query, signal);
    const isOther = toPath(target, true) !== toPath(names, true) || query !== searched;
    names = target;
    searched = query;
    if (isOther) {
      // Something may have been typed since it was asked for.
      state.filter = query === null ? frame.field.value.toLowerCase() : "";
      state.selected.clear();
      state.current = -1;
      state.shown = [];
      list.scrollToTop();
    }
    state.setEntries(found.entries ?? found.matches);
    if (document.activeElement !== frame.field) list.focus();
    if (found.isPartial) toast(`There is more: the first ${found.matches.length.toLocaleString()} are shown.`);
    return true;
  } catch (error) {
    report(error);
    return false;
  } finally {
    if (!signal.aborted) frame.setBusy(false);
  }
}

function refresh() {
  return load(names, searched);
}

let refreshTimer = null;
function scheduleRefresh() {
  if (refreshTimer !== null) return;
  refreshTimer = setTimeout(() => {
    refreshTimer = null;
    if (searched === null && !preview.isOpen()) reload();
  }, 700);
}

/** Brings the list up to date without taking the focus or the place. */
async function reload() {
  const asked = names;
  try {
    const folder = await fetchFolder(asked);
    if (asked === names && searched === null) state.setEntries(folder.entries);
  } catch {
    // The next finished upload, or the visitor, tries again.
  }
}

function filter(text) {
  if (searched === null) state.setFilter(text);
  else if (text === "") navigate(names);
}

function search(query) {
  if (query === searched) refresh();
  else if (query.trim() !== "") navigate(names, query);
}

function setHash(name) {
  const hash = name === "" ? "" : toHash(name);
  if (location.hash === hash) return;
  const url = toPath(names, true) + hash;
  // Stepping through files is one step back; closing leaves no trace of it.
  if (name === "" || location.hash !== "") history.replaceState({ query: searched }, "", url);
  else history.pushState({ query: searched }, "", url);
}

/** Takes a file whose preview was closed out of the address, unless that asks for another by now. */
function forgetHash(entry) {
  if (readHash() === entry.name) setHash("");
}

/** Opens the preview that the address asks for. */
async function showHash() {
  const name = readHash();
  const isAsked = (entry) => entry.name === name && entry.kind === "file";
  const entry = state.entries.find(isAsked);
  if (entry !== undefined) {
    const index = state.shown.indexOf(entry);
    state.setCurrent(index);
    if (index >= 0) list.reveal(index);
    preview.show(resolve(entry), entry);
    return;
  }
  preview.close();
  const way = name.split("/").filter((part) => part !== "");
  if (way.length < 2) return;
  // A hit of a search that is not on show: it can be seen in its folder.
  const file = way.pop();
  history.replaceState(null, "", toPath([...names, ...way], true) + toHash(file));
  await followLocation();
}

function stepPreview(direction) {
  if (state.current < 0) return;
  for (let index = state.current + direction; index >= 0 && index < state.shown.length; index += direction) {
    if (state.shown[index].kind !== "file") continue;
    setHash(state.shown[index].name);
    showHash();
    return;
  }
}

function goUp() {
  if (names.length > 0) navigate(names.slice(0, -1));
}

function pick(isFolder) {
  const input = h("input", { type: "file", multiple: true });
  input.webkitdirectory = isFolder;
  input.addEventListener("change", () => addUploads(readFiles(input.files)));
  input.click();
}

function addDrop({ found, unread }) {
  addUploads(found);
  if (unread.length > 0) toast(`Not all of ${formatNames(unread)} could be read.`, true);
}

function addUploads(found) {
  for (const [below, source, size] of found) {
    if (share.maxUpload !== null && size > share.maxUpload) {
      toast(`“${below.at(-1)}” is larger than ${formatBytes(share.maxUpload)}, the limit of this share.`, true);
    } else queue.add([...names, ...below], source, size);
  }
}

function showMenu(entry, anchor) {
  const path = toPath(resolve(entry), entry.kind === "folder");
  const items = [
    entry.kind === "folder"
      ? ["open", "Open", () => open(entry)]
      : ["open", "Open in a tab", () => globalThis.open(path, "_blank", "noopener")],
    [
      "download",
      entry.kind === "folder" ? "Download as zip" : "Download",
      () => location.assign(`${path}?${entry.kind === "folder" ? "zip" : "download"}`),
    ],
  ];
  if (share.writable) {
    items.push(
      ["rename", "Rename…", () => rename(entry)],
      ["move", "Move…", () => moveEntries([entry])],
      ["trash", "Delete…", () => removeEntries([entry]), true],
    );
  }
  openMenu(anchor, items);
}

async function newFolder() {
  const check = (name) => checkName(name) ?? checkFree(name);
  const name = await askName({ title: "New folder", label: "Name", action: "Make folder", check });
  if (name === null) return;
  await attempt(() => makeFolder([...names, name]));
}

async function rename(entry) {
  const old = entry.name.split("/").at(-1);
  const check = (name) => checkName(name) ?? (name === old ? null : checkFree(name));
  const name = await askName({ title: "Rename", label: "New name", value: old, action: "Rename", check });
  if (name === null || name === old) return;
  const from = resolve(entry);
  await attempt(() => moveEntry(from, [...from.slice(0, -1), name]));
}

function checkFree(name) {
  return state.entries.some((entry) => entry.name === name) ? "Something of that name is already here." : null;
}

function moveSelected() {
  return moveEntries(state.getSelected());
}

async function moveEntries(moved) {
  const target = await chooseFolder(names, moved.map((entry) => toPath(resolve(entry), true)), share.name);
  if (target === null) return;
  await attempt(async () => {
    for (const entry of moved) await moveEntry(resolve(entry), [...target, entry.name.split("/").at(-1)]);
  });
}

function removeSelected() {
  return removeEntries(state.getSelected());
}

async function removeEntries(removed) {
  if (removed.length === 0) return;
  const title = removed.length === 1
    ? `Delete “${formatName(removed[0].name)}”?`
    : `Delete ${formatCount(removed.length, "item")}?`;
  const hasFolder = removed.some(({ kind }) => kind === "folder");
  const text = `${hasFolder ? "Folders go with all that is in them. " : ""}This cannot be undone.`;
  if (!await confirm({ title, text, action: "Delete" })) return;
  await attempt(async () => {
    for (const entry of removed) await removeEntry(resolve(entry));
  });
}

/** Runs a change and shows the folder as it is then, or why it could not be. */
async function attempt(change) {
  try {
    await change();
    state.selected.clear();
  } catch (error) {
    report(error);
  }
  await refresh();
}

function zipSelected() {
  const selected = state.getSelected();
  if (selected.length === 1 && selected[0].kind === "file") {
    location.assign(`${toPath(resolve(selected[0]), false)}?download`);
    return;
  }
  const form = h("form", { method: "post", action: `${toPath(names, true)}?zip`, hidden: true });
  form.append(...selected.map(({ name }) => h("input", { type: "hidden", name: "name", value: name })));
  document.body.append(form);
  form.submit();
  form.remove();
}

async function leave() {
  await signOut();
  location.reload();
}

function report(error) {
  if (error.name === "AbortError") return;
  if (error instanceof ApiError && error.status === 401) location.reload();
  else toast(error.message, true);
}
