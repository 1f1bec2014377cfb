// @ts-check
// Short messages at the bottom edge.

import { h, icon } from "./dom.js";

const SHOWN_MS = 4000;
/** Errors and messages with an action stay longer. */
const SHOWN_LONG_MS = 12_000;
const MAX_TOASTS = 3;

const region = h("div", { class: "toasts", role: "region", "aria-label": "Messages" });

/**
 * Shows a message for some seconds. The pointer or the focus on it keeps it open.
 * @param {string} text
 * @param {{ isProblem?: boolean, action?: { label: string, run: () => void } }} [options]
 */
export function toast(text, { isProblem = false, action } = {}) {
  const element = h("div", { class: `toast${isProblem ? " bad" : ""}`, role: isProblem ? "alert" : "status" });
  const close = () => element.remove();
  if (!region.isConnected) document.body.append(region);
  region.append(element);
  while (region.children.length > MAX_TOASTS) region.firstElementChild?.remove();
  // Screen readers read only text that is added to an existing element.
  element.append(h("span", {}, text));
  if (action !== undefined) {
    element.append(h("button", {
      type: "button",
      onclick: () => {
        close();
        action.run();
      },
    }, action.label));
  }
  element.append(
    h("button", { type: "button", class: "dismiss", "aria-label": "Dismiss", onclick: close }, icon("close")),
  );
  const limit = isProblem || action !== undefined ? SHOWN_LONG_MS : SHOWN_MS;
  let timer = setTimeout(close, limit);
  const hold = () => clearTimeout(timer);
  const release = () => {
    clearTimeout(timer);
    timer = setTimeout(close, limit);
  };
  element.addEventListener("pointerenter", hold);
  element.addEventListener("pointerleave", release);
  element.addEventListener("focusin", hold);
  element.addEventListener("focusout", release);
}

/**
 * Shows a long action's progress, unless the action ends within 300 ms.
 * @param {() => void} onstop
 * @returns {{ update(text: string, share: number): void, close(): void }}
 */
export function showProgress(onstop) {
  const words = h("span", {});
  const bar = h("i", {});
  const element = h(
    "div",
    { class: "toast progress", role: "status" },
    words,
    h("button", { type: "button", onclick: onstop }, "Stop"),
    h("div", { class: "bar" }, bar),
  );
  const timer = setTimeout(() => {
    if (!region.isConnected) document.body.append(region);
    region.append(element);
  }, 300);
  return {
    update(text, share) {
      words.textContent = text;
      bar.style.width = `${100 * share}%`;
    },
    close() {
      clearTimeout(timer);
      element.remove();
    },
  };
}
