// @ts-check
// Pop-up menus.

import { h, icon } from "./dom.js";

/**
 * @typedef {{ icon: string, label: string, action: () => void, isDangerous?: boolean, hint?: string }} MenuItem
 * @typedef {{ x: number, y: number }} Point
 */

/**
 * Opens a menu below an element or at a point. An open menu takes all keys. When it closes, the focus returns to its
 * former element.
 * @param {HTMLElement | Point} at
 * @param {readonly MenuItem[]} items
 * @param {string} label
 */
export function openMenu(at, items, label) {
  const before = document.activeElement;
  const ending = new AbortController();
  const close = () => {
    ending.abort();
    menu.remove();
    if (at instanceof HTMLElement) at.setAttribute("aria-expanded", "false");
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  };
  const buttons = items.map((item) => createItem(item, close));
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label }, ...buttons);
  listen(menu, buttons, { close, signal: ending.signal });
  document.body.append(menu);
  place(menu, at);
  if (at instanceof HTMLElement) at.setAttribute("aria-expanded", "true");
  buttons[0].focus();
}

/**
 * @param {MenuItem} item
 * @param {() => void} close
 */
function createItem(item, close) {
  const onclick = () => {
    close();
    item.action();
  };
  return h(
    "button",
    { type: "button", role: "menuitem", tabindex: "-1", class: item.isDangerous ? "dangerous" : "", onclick },
    icon(item.icon),
    h("span", {}, item.label),
    item.hint === undefined ? null : h("kbd", { "aria-hidden": "true" }, item.hint),
  );
}

/**
 * @param {HTMLElement} menu
 * @param {readonly HTMLElement[]} buttons
 * @param {{ close: () => void, signal: AbortSignal }} ending
 */
function listen(menu, buttons, { close, signal }) {
  const labels = buttons.map((button) => button.querySelector("span")?.textContent ?? "");
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    event.stopPropagation();
    if (event.key === "Enter" || event.key === " ") return;
    event.preventDefault();
    if (["Escape", "Tab", "ContextMenu"].includes(event.key)) return close();
    const index = buttons.findIndex((button) => button === document.activeElement);
    buttons[findItem(event.key, index, labels)]?.focus();
  };
  addEventListener("pointerdown", (event) => menu.contains(/** @type {Node} */ (event.target)) || close(), {
    capture: true,
    signal,
  });
  addEventListener("keydown", onKey, { capture: true, signal });
  addEventListener("resize", close, { signal });
  addEventListener("blur", close, { signal });
  menu.addEventListener("contextmenu", (event) => event.preventDefault());
}

/**
 * Returns the item index that a key selects. Up and down wrap around; a letter selects the next label that starts
 * with it.
 * @param {string} key
 * @param {number} index the focused item
 * @param {readonly string[]} labels
 */
export function findItem(key, index, labels) {
  const count = labels.length;
  switch (key) {
    case "ArrowDown":
      return (index + 1) % count;
    case "ArrowUp":
      return (index - 1 + count) % count;
    case "Home":
    case "PageUp":
      return 0;
    case "End":
    case "PageDown":
      return count - 1;
  }
  if ([...key].length !== 1) return index;
  for (let step = 1; step <= count; step++) {
    const at = (index + step) % count;
    if (labels[at].toLowerCase().startsWith(key.toLowerCase())) return at;
  }
  return index;
}

/**
 * @param {HTMLElement} menu
 * @param {HTMLElement | Point} at
 */
function place(menu, at) {
  const { offsetWidth: width, offsetHeight: height } = menu;
  const [left, below, above] = at instanceof HTMLElement ? measure(at, width) : [at.x, at.y, at.y];
  const top = below + height + 8 <= innerHeight ? below : Math.max(8, above - height);
  menu.style.top = `${Math.min(top, Math.max(8, innerHeight - height - 8))}px`;
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
}

/**
 * @param {HTMLElement} element
 * @param {number} width
 */
function measure(element, width) {
  const { right, bottom, top } = element.getBoundingClientRect();
  return [right - width, bottom + 4, top - 4];
}
