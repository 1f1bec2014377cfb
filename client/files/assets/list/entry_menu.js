// @ts-check
// What can be done with entries of the list.

import { formatCount } from "../../../../web/browser/format.js";

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 * @typedef {import("../../../../web/browser/menus.js").MenuItem} MenuItem
 *
 * @typedef {object} EntryActions
 * @property {(entry: Entry) => void} open
 * @property {(entry: Entry) => void} openTab
 * @property {(entry: Entry) => void} download a folder as a zip of its own
 * @property {(entries: readonly Entry[]) => void} downloadAll in one zip
 * @property {(entry: Entry) => void} showFolder
 * @property {(entry: Entry) => void} rename
 * @property {(entries: readonly Entry[]) => void} move
 * @property {(entries: readonly Entry[]) => void} remove
 *
 * `isFound`: by a search.
 * @typedef {{ isWritable: boolean, isFound: boolean }} Mode
 */

/**
 * @param {Entry} entry
 * @param {Mode} mode
 * @param {EntryActions} actions
 * @returns {MenuItem[]}
 */
export function listForOne(entry, { isWritable, isFound }, actions) {
  const isFolder = entry.kind === "folder";
  const label = isFolder ? "Download as zip" : "Download";
  const reads = [
    { icon: isFolder ? "folder" : "file", label: "Open", action: () => actions.open(entry) },
    { icon: "open", label: "Open in a tab", action: () => actions.openTab(entry) },
    { icon: "download", label, action: () => actions.download(entry) },
  ];
  const finds = [{ icon: "folder", label: "Show in its folder", action: () => actions.showFolder(entry) }];
  const changes = [
    { icon: "rename", label: "Rename…", action: () => actions.rename(entry), hint: "F2" },
    { icon: "move", label: "Move…", action: () => actions.move([entry]) },
    { icon: "trash", label: "Delete…", action: () => actions.remove([entry]), isDangerous: true, hint: "Del" },
  ];
  return [...reads, ...(isFound ? finds : []), ...(isWritable ? changes : [])];
}

/**
 * @param {readonly Entry[]} chosen
 * @param {Mode} mode
 * @param {EntryActions} actions
 * @returns {MenuItem[]}
 */
export function listForMany(chosen, { isWritable }, actions) {
  const count = formatCount(chosen.length, "item");
  const download = { icon: "download", label: `Download ${count} as zip`, action: () => actions.downloadAll(chosen) };
  if (!isWritable) return [download];
  return [
    download,
    { icon: "move", label: `Move ${count}…`, action: () => actions.move(chosen) },
    {
      icon: "trash",
      label: `Delete ${count}…`,
      action: () => actions.remove(chosen),
      isDangerous: true,
      hint: "Del",
    },
  ];
}
