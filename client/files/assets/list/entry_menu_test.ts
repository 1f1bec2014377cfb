import { deepEqual, equal } from "node:assert/strict";
import type { Entry } from "../parts/api.js";
import { listForMany, listForOne } from "./entry_menu.js";

const FILE: Entry = { name: "a.txt", kind: "file", size: 1, modified: 0 };
const FOLDER: Entry = { name: "b", kind: "folder", size: 0, modified: 0 };

function record() {
  const done: string[] = [];
  const one = (what: string) => ({ name }: Entry) => void done.push(`${what} ${name}`);
  const many = (what: string) => (entries: readonly Entry[]) =>
    void done.push(`${what} ${entries.map(({ name }) => name)}`);
  const actions = {
    open: one("open"),
    openTab: one("openTab"),
    download: one("download"),
    downloadAll: many("downloadAll"),
    showFolder: one("showFolder"),
    rename: one("rename"),
    move: many("move"),
    remove: many("remove"),
  };
  return { done, actions };
}

Deno.test("who may only read is offered nothing that changes", () => {
  const { actions } = record();
  const labels = listForOne(FILE, { isWritable: false, isFound: false }, actions).map(({ label }) => label);
  deepEqual(labels, ["Open", "Open in a tab", "Download"]);
  equal(listForMany([FILE, FOLDER], { isWritable: false, isFound: false }, actions).length, 1);
});

Deno.test("each item of the menu does what it says, to the entries that it is for", () => {
  const { done, actions } = record();
  const mode = { isWritable: true, isFound: true };
  for (const { action } of [...listForOne(FOLDER, mode, actions), ...listForMany([FILE, FOLDER], mode, actions)]) {
    action();
  }
  deepEqual(done, [
    "open b",
    "openTab b",
    "download b",
    "showFolder b",
    "rename b",
    "move b",
    "remove b",
    "downloadAll a.txt,b",
    "move a.txt,b",
    "remove a.txt,b",
  ]);
});

Deno.test("a folder is offered as a zip, and what a search found in its folder", () => {
  const { actions } = record();
  const labels = listForOne(FOLDER, { isWritable: false, isFound: true }, actions).map(({ label }) => label);
  deepEqual(labels, ["Open", "Open in a tab", "Download as zip", "Show in its folder"]);
  equal(listForMany([FILE, FOLDER], { isWritable: false, isFound: true }, actions)[0].label, "Download 2 items as zip");
});
