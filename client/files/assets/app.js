// @ts-check
// The page of a share: makes the parts and tells each what the others do.

import { signOut, toPath } from "./parts/api.js";
import { Changes } from "./change/changes.js";
import { find, h, icon } from "../../../web/browser/dom.js";
import { downloadEntries, downloadFile, downloadFolder } from "./parts/downloads.js";
import { DragMove } from "./list/drag_move.js";
import { listForMany, listForOne } from "./list/entry_menu.js";
import { FolderState } from "./list/folder_state.js";
import { FolderWatch } from "./location/folder_watch.js";
import { formatName } from "../../../web/browser/format.js";
import { Frame } from "./parts/frame.js";
import { ListView } from "./list/list_view.js";
import { openMenu } from "../../../web/browser/menus.js";
import { Navigation, tellPartial } from "./location/navigation.js";
import { installKeys } from "./list/page_keys.js";
import { Preview } from "./preview/preview.js";
import { showHelp } from "./change/questions.js";
import { ReloadTimer } from "./location/reload_timer.js";
import { describeList } from "./list/summary.js";
import { Uploads } from "./upload/uploads.js";

/**
 * @typedef {import("./parts/api.js").Entry} Entry
 * @typedef {import("./list/list_view.js").Layout} Layout
 * @typedef {import("./list/list_view.js").Point} Point
 */

/** @type {{ share: import("./parts/api.js").Share, entries: Entry[], isPartial?: boolean }} */
const { share, entries, isPartial = false } = JSON.parse(find("#data", HTMLScriptElement).textContent ?? "");
const LAYOUT_KEPT_AS = "portway-layout";

/** @type {(entry: Entry) => string} */
const toHref = (entry) => toPath(navigation.resolve(entry), entry.kind === "folder");

const state = new FolderState(update, localStorage);
const list = new ListView(state, { open: (entry) => navigation.open(entry), menu: showMenu, toHref });
const changes = new Changes(share.name, () => navigation.refresh());
const preview = new Preview({
  step: (direction) => navigation.step(direction),
  onclose: (entry) => navigation.forget(entry),
  follow: (names, isFolder) => navigation.followLink(names, isFolder),
});
const reloads = new ReloadTimer(() => navigation.reload());
const watch = new FolderWatch(() => reloads.schedule());
const uploads = new Uploads({
  maxUpload: share.maxUpload,
  findFolder: () => navigation.names,
  onfinished: () => reloads.schedule(),
});
const frame = new Frame(share, {
  filter,
  search: (query, isEverywhere) => navigation.search(query, isEverywhere),
  navigate: (names) => navigation.goTo(names),
  pickFiles: () => uploads.pick(false),
  pickFolder: () => uploads.pick(true),
  newFolder,
  zipAll,
  zipSelected: () => download(state.chosen),
  moveSelected: () => move(state.chosen),
  removeSelected: () => remove(state.chosen),
  selectAll: () => state.selectAll(),
  clearSelection: () => {
    state.clearSelection();
    list.focus();
  },
  toggleLayout: () => setLayout(list.layout === "tiles" ? "lines" : "tiles"),
  showTrash: () => changes.showTrash(),
  showHelp,
  leave: async () => {
    await signOut();
    location.reload();
  },
});
const navigation = new Navigation({
  shareName: share.name,
  state,
  list,
  frame,
  preview,
  watch,
  onleave: () => uploads.forgetAnswers(),
});

/** @type {import("./list/entry_menu.js").EntryActions} */
const entryActions = {
  open: (entry) => navigation.open(entry),
  openTab: (entry) => void globalThis.open(toHref(entry), "_blank", "noopener"),
  download: (entry) => (entry.kind === "folder" ? downloadFolder : downloadFile)(navigation.resolve(entry)),
  downloadAll: download,
  showFolder: (entry) => navigation.goTo(navigation.resolve(entry).slice(0, -1)),
  rename,
  move,
  remove,
};

find("#app", HTMLElement).append(frame.element);
frame.main.append(list.element);
if (share.writable) uploads.install(frame, list);
installKeys({
  state,
  list,
  field: frame.field,
  isWritable: share.writable,
  actions: {
    open: (current) => current && navigation.open(current),
    toggle: (current) => current && state.toggle(state.current),
    up: () => navigation.goUp(),
    clear: () => state.clearSelection(),
    all: () => state.selectAll(),
    search: () => frame.focusSearch(),
    help: () => showHelp(),
    menu: (current) => current && showMenuOfRow(current),
    rename: (current) => current && rename(current),
    remove: (current, isFocused) => remove(state.choose(current, isFocused)),
    newFolder,
    upload: () => uploads.pick(false),
  },
});
new DragMove({
  list: list.element,
  findEntry: (element) => list.findEntry(element),
  take: (entry) => state.selected.has(entry.name) ? state.chosen : [entry],
  toHref,
  findFolder,
  move: (moved, target) => changes.move(moved.map((entry) => navigation.resolve(entry)), target),
  isWritable: share.writable,
});
setLayout(localStorage.getItem(LAYOUT_KEPT_AS) === "tiles" ? "tiles" : "lines");
frame.field.value = navigation.searched ?? "";
state.open(entries, "");
if (isPartial) tellPartial(entries.length);
list.focus();
navigation.follow();

function update() {
  frame.update({
    names: navigation.names,
    searched: navigation.searched,
    selected: state.chosen.length,
    found: state.entries.length,
    summary: describeList(state),
    layout: list.layout,
  });
  list.update(describeEmpty());
}

function describeEmpty() {
  if (navigation.searched !== null) return [h("p", {}, `Nothing here is called “${navigation.searched}”.`)];
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

/** @param {string} text */
function filter(text) {
  if (navigation.searched === null) state.setFilter(text);
  else if (text === "") navigation.goTo(navigation.names);
}

/**
 * @param {Entry} entry
 * @param {HTMLElement | Point} at
 */
function showMenu(entry, at) {
  // What is asked for on one of several selected is asked for all of them.
  const chosen = state.selected.has(entry.name) && state.selected.size > 1 ? state.chosen : [entry];
  const mode = { isWritable: share.writable, isFound: navigation.searched !== null };
  const items = chosen.length > 1 ? listForMany(chosen, mode, entryActions) : listForOne(entry, mode, entryActions);
  openMenu(at, items, `Actions for ${formatName(entry.name)}`);
}

/** @param {Entry} entry */
function showMenuOfRow(entry) {
  list.reveal(state.current);
  showMenu(entry, list.findButton(entry.name) ?? { x: 0, y: 0 });
}

/** @param {Entry} entry */
function rename(entry) {
  changes.rename(navigation.resolve(entry), isTaken);
}

/** @param {readonly Entry[]} moved */
function move(moved) {
  changes.askAndMove(moved.map((entry) => navigation.resolve(entry)), navigation.names);
}

/** @param {readonly Entry[]} removed */
function remove(removed) {
  changes.remove(removed.map((entry) => navigation.resolve(entry)));
}

function newFolder() {
  changes.newFolder(navigation.names, isTaken);
}

/** @param {string} name */
function isTaken(name) {
  return navigation.searched === null && state.entries.some((entry) => entry.name === name);
}

/**
 * The folder that a row of the list or a link of the way stands for.
 * @param {Element} element
 */
function findFolder(element) {
  const entry = list.findEntry(element);
  if (entry !== null) return entry.kind === "folder" ? navigation.resolve(entry) : null;
  const depth = element instanceof HTMLElement ? element.dataset.depth : undefined;
  const { names } = navigation;
  return depth === undefined || Number(depth) === names.length ? null : names.slice(0, Number(depth));
}

function zipAll() {
  if (navigation.searched === null && state.filter === "") downloadFolder(navigation.names);
  else download(state.shown);
}

/** @param {readonly Entry[]} chosen */
function download(chosen) {
  const [first] = chosen;
  if (chosen.length === 1 && first.kind === "file") downloadFile(navigation.resolve(first));
  else downloadEntries(navigation.names, chosen.map(({ name }) => name));
}
