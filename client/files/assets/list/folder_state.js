// @ts-check
// The entries of the open folder: what is shown of them, in which order, and which are selected.

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 * @typedef {"name" | "size" | "modified"} SortKey
 * @typedef {{ key: SortKey, down: boolean }} Sort
 * @typedef {Pick<Storage, "getItem" | "setItem">} Store
 */

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
const KEPT_AS = "portway-sort";

/** One folder on show. `onchange` is called after every change of what is to be seen. */
export class FolderState {
  /** @type {readonly Entry[]} */
  entries = [];
  /** @type {readonly Entry[]} */
  shown = [];
  filter = "";
  /** @type {Set<string>} */
  selected = new Set();
  /** Index of the entry that the keys are at, -1 for none. */
  current = -1;
  /** Where a selection of many in a row began, and what was selected before it. */
  #anchor = 0;
  /** @type {ReadonlySet<string>} */
  #base = new Set();
  #onchange;
  #store;

  /**
   * @param {() => void} onchange
   * @param {Store} store keeps the order between visits
   */
  constructor(onchange, store) {
    this.#onchange = onchange;
    this.#store = store;
    this.sort = readSort(store.getItem(KEPT_AS));
  }

  /** Entries that are shown and selected, as they are shown. */
  get chosen() {
    return this.shown.filter(({ name }) => this.selected.has(name));
  }

  /**
   * The entries that a key acts on: the selected ones, except when the focus is in the row of another entry.
   * @param {Entry | undefined} current
   * @param {boolean} isFocused whether the focus is in the row of `current`
   */
  choose(current, isFocused) {
    const { chosen } = this;
    if (current === undefined) return chosen;
    return chosen.length === 0 || (isFocused && !this.selected.has(current.name)) ? [current] : chosen;
  }

  /** How much of what is shown is selected. */
  get extent() {
    const count = this.chosen.length;
    return count === 0 ? "none" : count === this.shown.length ? "all" : "some";
  }

  /**
   * Takes a newer listing of the same folder: what is still there stays selected, and the keys where they are.
   * @param {readonly Entry[]} entries
   */
  setEntries(entries) {
    const focused = this.shown[this.current]?.name;
    const anchor = this.shown[this.#anchor]?.name;
    this.entries = entries;
    const names = new Set(entries.map(({ name }) => name));
    for (const name of this.selected) if (!names.has(name)) this.selected.delete(name);
    this.#arrange();
    this.current = this.shown.findIndex(({ name }) => name === focused);
    this.#anchor = Math.max(0, this.shown.findIndex(({ name }) => name === anchor));
    this.#onchange();
  }

  /**
   * Takes the listing of another folder.
   * @param {readonly Entry[]} entries
   * @param {string} filter
   */
  open(entries, filter) {
    this.filter = filter.toLowerCase();
    this.selected = new Set();
    this.#base = new Set();
    this.#anchor = 0;
    this.current = -1;
    this.shown = [];
    this.setEntries(entries);
  }

  /** @param {string} text every word of it must be in a name that is shown */
  setFilter(text) {
    this.filter = text.toLowerCase();
    this.#arrange();
    this.current = this.shown.length > 0 && text !== "" ? 0 : -1;
    this.#onchange();
  }

  /** @param {SortKey} key the same one again turns the order round */
  sortBy(key) {
    const focused = this.shown[this.current]?.name;
    this.sort = { key, down: this.sort.key === key ? !this.sort.down : key !== "name" };
    this.#store.setItem(KEPT_AS, JSON.stringify(this.sort));
    this.#arrange();
    this.current = this.shown.findIndex(({ name }) => name === focused);
    this.#onchange();
  }

  #arrange() {
    const words = this.filter.split(/\s+/).filter((word) => word !== "");
    const found = words.length === 0
      ? [...this.entries]
      : this.entries.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
    this.shown = found.sort(createOrder(this.sort));
  }

  /** @param {number} index */
  select(index) {
    this.selected = new Set([this.shown[index].name]);
    this.#setAnchor(index);
    this.moveTo(index);
  }

  /** @param {number} index */
  toggle(index) {
    const { name } = this.shown[index];
    if (!this.selected.delete(name)) this.selected.add(name);
    this.#setAnchor(index);
    this.moveTo(index);
  }

  /**
   * Selects all from where the last selection began up to here; what was selected before that stays.
   * @param {number} index
   */
  extendTo(index) {
    const [first, last] = this.#anchor < index ? [this.#anchor, index] : [index, this.#anchor];
    this.selected = new Set([...this.#base, ...this.shown.slice(first, last + 1).map(({ name }) => name)]);
    this.current = index;
    this.#onchange();
  }

  selectAll() {
    this.selected = new Set(this.shown.map(({ name }) => name));
    this.#onchange();
  }

  clearSelection() {
    this.selected = new Set();
    this.#base = new Set();
    this.#onchange();
  }

  /**
   * Moves the keys without selecting; a selection of many in a row begins here.
   * @param {number} index
   */
  goTo(index) {
    this.moveTo(index);
    this.#setAnchor(Math.max(0, this.current));
  }

  /** @param {number} index */
  moveTo(index) {
    this.current = Math.max(-1, Math.min(index, this.shown.length - 1));
    this.#onchange();
  }

  /** @param {number} index */
  #setAnchor(index) {
    this.#anchor = index;
    this.#base = new Set(this.selected);
  }
}

/**
 * Folders first, then by the key, then by name.
 * @param {Sort} sort
 * @returns {(a: Entry, b: Entry) => number}
 */
function createOrder({ key, down }) {
  const sign = down ? -1 : 1;
  return (a, b) => {
    if (a.kind !== b.kind) return a.kind === "folder" ? -1 : 1;
    const order = key === "name" ? 0 : a[key] - b[key];
    return sign * (order || collator.compare(a.name, b.name));
  };
}

/**
 * @param {string | null} kept
 * @returns {Sort}
 */
function readSort(kept) {
  try {
    const { key, down } = JSON.parse(kept ?? "{}");
    if (["name", "size", "modified"].includes(key)) return { key, down: down === true };
  } catch {
    // Not written by us: the default is as good.
  }
  return { key: "name", down: false };
}
