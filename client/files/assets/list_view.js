// The list of a folder. Only the rows that can be seen exist, so 10,000 entries are as quick as ten.

import { h, icon, iconButton } from "./dom.js";
import { formatBytes, formatDate, formatFullDate, formatName } from "./format.js";
import { getIcon, getKind } from "./kinds.js";

/** Rows above and below the visible part that exist too, so that scrolling shows no gaps. */
const SPARE = 12;

/**
 * Makes the list. `actions.open(entry)`, `actions.menu(entry, anchor)` and `actions.toHref(entry)` are the caller's.
 */
export function createListView(state, actions) {
  const spacer = h("div", { class: "spacer" });
  const rows = h("div", { class: "rows" });
  const scroller = h(
    "div",
    {
      class: "scroller",
      tabIndex: 0,
      role: "listbox",
      "aria-multiselectable": "true",
      "aria-label": "Files and folders",
    },
    spacer,
    rows,
  );
  const heads = createHeads(state);
  const empty = h("div", { class: "empty", hidden: true });
  const element = h("section", { class: "list" }, heads.element, scroller, empty);
  let anchor = 0;

  scroller.addEventListener("scroll", () => render(), { passive: true });
  new ResizeObserver(() => render()).observe(scroller);
  rows.addEventListener("click", onClick);
  rows.addEventListener("dblclick", (event) => event.preventDefault());

  function onClick(event) {
    const row = event.target.closest(".row");
    if (row === null) return;
    const index = Number(row.dataset.index);
    const entry = state.shown[index];
    if (event.target.closest(".more")) {
      actions.menu(entry, event.target.closest(".more"));
      return;
    }
    if (event.target.closest(".box")) {
      if (event.shiftKey) state.selectRange(index);
      else state.toggle(index);
      anchor = index;
      return;
    }
    if (event.ctrlKey || event.metaKey) {
      // On a link this would open a tab; on the rest of the row it selects.
      if (event.target.closest("a")) return;
      state.toggle(index);
      return;
    }
    event.preventDefault();
    if (event.shiftKey) {
      state.current = anchor;
      state.selectRange(index);
      return;
    }
    state.setCurrent(index);
    actions.open(entry);
  }

  function render() {
    const height = getRowHeight(scroller);
    const total = state.shown.length;
    spacer.style.height = `${total * height}px`;
    const first = Math.max(0, Math.floor(scroller.scrollTop / height) - SPARE);
    const last = Math.min(total, Math.ceil((scroller.scrollTop + scroller.clientHeight) / height) + SPARE);
    rows.style.transform = `translateY(${first * height}px)`;
    const made = [];
    for (let index = first; index < last; index++) made.push(createRow(state, index, actions));
    rows.replaceChildren(...made);
    scroller.setAttribute("aria-activedescendant", state.current >= 0 ? `row-${state.current}` : "");
  }

  /** Shows what the state holds now; `message` stands in for an empty list. */
  function update(message) {
    heads.update();
    empty.replaceChildren(...(state.shown.length === 0 ? message : []));
    empty.hidden = state.shown.length > 0;
    scroller.hidden = state.shown.length === 0;
    render();
  }

  function reveal(index) {
    const height = getRowHeight(scroller);
    const top = index * height;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + height > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = top + height - scroller.clientHeight;
    }
  }

  return {
    element,
    update,
    reveal,
    focus: () => scroller.focus({ preventScroll: true }),
    scrollToTop: () => scroller.scrollTop = 0,
    getPageSize: () => Math.max(1, Math.floor(scroller.clientHeight / getRowHeight(scroller)) - 1),
  };
}

function getRowHeight(scroller) {
  return Number.parseFloat(getComputedStyle(scroller).getPropertyValue("--row")) || 46;
}

function createRow(state, index, actions) {
  const entry = state.shown[index];
  const kind = getKind(entry);
  const isSelected = state.selected.has(entry.name);
  const name = formatName(entry.name);
  const slash = name.lastIndexOf("/");
  return h(
    "div",
    {
      class: `row${isSelected ? " selected" : ""}${state.current === index ? " current" : ""}`,
      id: `row-${index}`,
      role: "option",
      "aria-selected": String(isSelected),
      "aria-setsize": String(state.shown.length),
      "aria-posinset": String(index + 1),
      "data-index": String(index),
    },
    h("span", { class: "box", title: "Select" }, icon("check")),
    icon(getIcon(kind), `kind ${kind}`),
    h(
      "a",
      { class: "name", href: actions.toHref(entry), tabindex: "-1", title: name },
      slash < 0 ? null : h("small", {}, name.slice(0, slash + 1)),
      name.slice(slash + 1),
    ),
    h("span", { class: "size" }, entry.kind === "folder" ? "" : formatBytes(entry.size)),
    h("time", { class: "date", title: formatFullDate(entry.modified) }, formatDate(entry.modified)),
    iconButton("more", `Actions for ${name}`, null, { className: "more", tabindex: "-1" }),
  );
}

function createHeads(state) {
  const all = h("button", { class: "box", type: "button", "aria-label": "Select all" }, icon("check"));
  all.addEventListener("click", () => isAll() ? state.clearSelection() : state.selectAll());
  const isAll = () => state.shown.length > 0 && state.selected.size === state.shown.length;
  const keys = [["name", "Name"], ["size", "Size"], ["modified", "Changed"]];
  const buttons = keys.map(([key, label]) =>
    h("button", { type: "button", class: `head ${key}`, onclick: () => state.sortBy(key) }, label)
  );
  function update() {
    keys.forEach(([key], index) => {
      const order = state.sort.key !== key ? "none" : state.sort.down ? "descending" : "ascending";
      buttons[index].dataset.order = order;
      buttons[index].setAttribute("aria-label", `Sort by ${keys[index][1]}${order === "none" ? "" : `, now ${order}`}`);
    });
    all.classList.toggle("on", isAll());
  }
  return { element: h("div", { class: "heads" }, all, h("span"), ...buttons, h("span")), update };
}
