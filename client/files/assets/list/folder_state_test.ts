import { deepEqual, equal } from "node:assert/strict";
import type { Entry } from "../parts/api.js";
import { FolderState } from "./folder_state.js";

function createStore(kept: string | null = null) {
  const values = new Map(kept === null ? [] : [["portway-sort", kept]]);
  return {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
  };
}

function createEntry(name: string, { kind = "file", size = 0, modified = 0 }: Partial<Entry> = {}): Entry {
  return { name, kind, size, modified };
}

function open(names: readonly string[]): FolderState {
  const state = new FolderState(() => {}, createStore());
  state.open(names.map((name) => createEntry(name)), "");
  return state;
}

const listShown = (state: FolderState) => state.shown.map(({ name }) => name);
const listChosen = (state: FolderState) => state.chosen.map(({ name }) => name);

Deno.test("FolderState shows folders first and numbers in names in their order, either way round", () => {
  const state = new FolderState(() => {}, createStore());
  state.open([createEntry("b10"), createEntry("b9"), createEntry("z", { kind: "folder" }), createEntry("A")], "");
  deepEqual(listShown(state), ["z", "A", "b9", "b10"]);
  state.sortBy("name");
  deepEqual(listShown(state), ["z", "b10", "b9", "A"]);
});

Deno.test("FolderState begins with the largest when sorted by size, and keeps the order for the next visit", () => {
  const store = createStore();
  const state = new FolderState(() => {}, store);
  state.open([createEntry("a", { size: 1 }), createEntry("b", { size: 3 }), createEntry("c", { size: 3 })], "");
  state.sortBy("size");
  deepEqual(listShown(state), ["c", "b", "a"]);
  deepEqual(new FolderState(() => {}, store).sort, { key: "size", down: true });
  deepEqual(new FolderState(() => {}, createStore("{nonsense")).sort, { key: "name", down: false });
});

Deno.test("FolderState filters by every word, whatever the case, and then points at the first", () => {
  const state = open(["Report 2025.pdf", "report 2026.pdf", "other.txt"]);
  state.setFilter("2026 REPORT");
  deepEqual([listShown(state), state.current], [["report 2026.pdf"], 0]);
});

Deno.test("FolderState selects from where it began to where it is, also when it turns back, and keeps what was selected", () => {
  const state = open(["a", "b", "c", "d", "e", "f"]);
  state.toggle(5);
  state.goTo(1);
  state.extendTo(3);
  deepEqual(listChosen(state), ["b", "c", "d", "f"]);
  state.extendTo(0);
  deepEqual(listChosen(state), ["a", "b", "f"]);
});

Deno.test("FolderState tells whether none, some or all of what is shown is selected", () => {
  const state = open(["a1", "a2", "b"]);
  equal(state.extent, "none");
  state.toggle(0);
  equal(state.extent, "some");
  state.setFilter("a1");
  equal(state.extent, "all");
  state.clearSelection();
  equal(state.extent, "none");
});

Deno.test("FolderState keeps selection and place by name when a newer listing comes, without what is gone", () => {
  const state = open(["a", "b", "c"]);
  state.selectAll();
  state.goTo(2);
  state.setEntries(["0", "a", "c"].map((name) => createEntry(name)));
  deepEqual([listChosen(state), state.current, state.extent], [["a", "c"], 2, "some"]);
  state.open([createEntry("c")], "");
  deepEqual([listChosen(state), state.current], [[], -1]);
});
