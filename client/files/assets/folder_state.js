// The entries of the open folder: what is shown of them, in which order, and which are selected.

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** State of one folder view. `onchange` is called after every change of what is shown. */
export function createFolderState(onchange) {
  const state = {
    entries: [],
    shown: [],
    filter: "",
    sort: readSort(),
    selected: new Set(),
    current: -1,
    setEntries,
    setFilter,
    sortBy,
    select,
    toggle,
    selectRange,
    selectAll,
    clearSelection,
    setCurrent,
    getSelected: () => state.shown.filter((entry) => state.selected.has(entry.name)),
  };

  function setEntries(entries) {
    const focused = state.shown[state.current]?.name;
    state.entries = entries;
    const names = new Set(entries.map((entry) => entry.name));
    for (const name of state.selected) if (!names.has(name)) state.selected.delete(name);
    arrange();
    state.current = state.shown.findIndex((entry) => entry.name === focused);
    onchange();
  }

  function setFilter(text) {
    state.filter = text.toLowerCase();
    arrange();
    state.current = state.shown.length > 0 && text !== "" ? 0 : -1;
    onchange();
  }

  function sortBy(key) {
    const isSame = state.sort.key === key;
    state.sort = { key, down: isSame ? !state.sort.down : key !== "name" };
    localStorage.setItem("portway-sort", JSON.stringify(state.sort));
    arrange();
    onchange();
  }

  function arrange() {
    const words = state.filter.split(/\s+/).filter((word) => word !== "");
    const found = words.length === 0
      ? [...state.entries]
      : state.entries.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
    state.shown = found.sort(createOrder(state.sort));
  }

  function select(index) {
    state.selected = new Set([state.shown[index].name]);
    setCurrent(index);
  }

  function toggle(index) {
    const { name } = state.shown[index];
    if (!state.selected.delete(name)) state.selected.add(name);
    setCurrent(index);
  }

  function selectRange(index) {
    const from = Math.max(0, state.current);
    const [first, last] = from < index ? [from, index] : [index, from];
    for (const entry of state.shown.slice(first, last + 1)) state.selected.add(entry.name);
    setCurrent(index);
  }

  function selectAll() {
    state.selected = new Set(state.shown.map((entry) => entry.name));
    onchange();
  }

  function clearSelection() {
    state.selected.clear();
    onchange();
  }

  function setCurrent(index) {
    state.current = Math.max(-1, Math.min(index, state.shown.length - 1));
    onchange();
  }

  return state;
}

/** Folders first, then by the key, then by name. */
function createOrder({ key, down }) {
  const sign = down ? -1 : 1;
  return (a, b) => {
    if (a.kind !== b.kind) return a.kind === "folder" ? -1 : 1;
    const order = key === "name" ? 0 : a[key] - b[key];
    return sign * (order || collator.compare(a.name, b.name));
  };
}

function readSort() {
  try {
    const { key, down } = JSON.parse(localStorage.getItem("portway-sort"));
    if (["name", "size", "modified"].includes(key)) return { key, down: down === true };
  } catch {
    // Nothing kept, or not by us: the default is as good.
  }
  return { key: "name", down: false };
}
