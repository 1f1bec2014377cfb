import { deepEqual, equal } from "node:assert/strict";
import { readKey } from "./keys.js";

const press = (
  key: string,
  held: { ctrlKey?: boolean; shiftKey?: boolean; altKey?: boolean; metaKey?: boolean } = {},
) => ({
  key,
  ctrlKey: false,
  shiftKey: false,
  altKey: false,
  metaKey: false,
  ...held,
});
const WRITER = { isWritable: true, hasLetters: true, hasTiles: false };

Deno.test("readKey knows the menu by both of its keys, and selecting all by Ctrl or Cmd alone", () => {
  equal(readKey(press("ContextMenu"), WRITER), "menu");
  equal(readKey(press("F10", { shiftKey: true }), WRITER), "menu");
  equal(readKey(press("F10"), WRITER), null);
  equal(readKey(press("a", { metaKey: true }), WRITER), "all");
  equal(readKey(press("a", { ctrlKey: true, shiftKey: true }), WRITER), null);
  equal(readKey(press("n", { ctrlKey: true }), WRITER), null);
});

Deno.test("readKey leaves single characters alone when they are switched off, and changes where nothing can be changed", () => {
  for (const key of ["/", "?", "n", "u"]) {
    equal(readKey(press(key), { ...WRITER, hasLetters: false }), null, key);
  }
  for (const key of ["n", "u", "F2", "Delete"]) equal(readKey(press(key), { ...WRITER, isWritable: false }), null, key);
  equal(readKey(press("/"), { ...WRITER, isWritable: false }), "search");
  equal(readKey(press("Delete"), { ...WRITER, hasLetters: false }), "remove");
});

Deno.test("readKey moves sideways in tiles only, and extends with Shift", () => {
  equal(readKey(press("ArrowLeft"), WRITER), null);
  deepEqual(readKey(press("ArrowLeft"), { ...WRITER, hasTiles: true }), { to: "left", extends: false });
  deepEqual(readKey(press("End", { shiftKey: true }), WRITER), { to: "last", extends: true });
});
