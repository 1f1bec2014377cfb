// The page of a share: puts the parts together and decides what happens when.

import {
  ApiError,
  fetchFolder,
  fetchSearch,
  makeFolder,
  moveEntry,
  readLocation,
  removeEntry,
  signOut,
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
const preview = createPreview({ step: stepPreview, onclose: () => setHash("") });
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
showHash();
list.focus();

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
  if (entry.kind === "folder") await navigate(resolve(entry));
  else setHash(entry.name);
  showHash();
}

/** Goes to a folder, as a step in the browser's history. */
async function navigate(target) {
  if (toPath(target, true) !== location.pathname || location.hash !== "") {
    history.pushState(null, "", toPath(target, true));
  }
  await followLocation();
}

async function followLocation() {
  const target = readLocation();
  if (toPath(target, true) !== toPath(names, true) || searched !== null) await load(target);
  showHash();
}

async function load(target) {
  loading.abort();
  loading = new AbortController();
  frame.setBusy(true);
  try {
    const folder = await fetchFolder(target, loading.signal);
    const isOther = toPath(target, true) !== toPath(names, true);
    names = target;
    searched = null;
    if (isOther) {
      frame.clearFilter();
      state.filter = "";
      state.selected.clear();
      state.current = -1;
      state.shown = [];
      list.scrollToTop();
    }
    state.setEntries(folder.entries);
    document.title = formatName(target.at(-1) ?? share.name);
    list.focus();
  } catch (error) {
    report(error);
  } finally {
    frame.setBusy(false);
  }
}

function refresh() {
  return searched === null ? load(names) : search(searched);
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
  if (searched !== null && text === "") {
    load(names);
    return;
  }
  if (searched === null) state.setFilter(text);
}

async function search(query) {
  if (query.trim() === "") return;
  loading.abort();
  loading = new AbortController();
  frame.setBusy(true);
  try {
    const { matches, isPartial } = await fetchSearch(names, query, loading.signal);
    searched = query;
    state.filter = "";
    state.selected.clear();
    state.setEntries(matches);
    if (isPartial) toast(`There is more: the first ${matches.length.toLocaleString()} are shown.`);
  } catch (error) {
    report(error);
  } finally {
    frame.setBusy(false);
  }
}

function setHash(name) {
  const hash = name === "" ? "" : `#${encodeURIComponent(name)}`;
  if (location.hash === hash) return;
  const url = location.pathname + hash;
  // Stepping through files is one step back; closing leaves no trace of it.
  if (name === "" || location.hash !== "") history.replaceState(null, "", url);
  else history.pushState(null, "", url);
}

/** Opens the preview that the address asks for. */
function showHash() {
  const name = decodeURIComponent(location.hash.slice(1));
  const entry = state.entries.find((entry) => entry.name === name && entry.kind === "file");
  if (entry !== undefined) preview.show(resolve(entry), entry);
  else preview.close();
}

function stepPreview(direction) {
  for (let index = state.current + direction; index >= 0 && index < state.shown.length; index += direction) {
    if (state.shown[index].kind !== "file") continue;
    state.setCurrent(index);
    list.reveal(index);
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
