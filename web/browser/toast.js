// @ts-check
// Short messages at the bottom of the page.

import { h, icon } from "./dom.js";

const SHOWN_MS = 4000;
/** A message with something to do about it, or of something that failed, stays longer. */
const SHOWN_LONG_MS = 12_000;
const MAX_TOASTS = 3;

const region = h("div", { class: "toasts", role: "region", "aria-label": "Messages" });

/**
 * Shows a message for some seconds; not while the pointer is on it or the focus in it.
 * @param {string} text
 * @param {{ isProblem?: boolean, action?: { label: string, run: () => void } }} [options]
 */
export function toast(text, { isProblem = false, action } = {}) {
  const element = h("div", { class: `toast${isProblem ? " bad" : ""}`, role: isProblem ? "alert" : "status" });
  const close = () => element.remove();
  if (!region.isConnected) document.body.append(region);
  region.append(element);
  while (region.children.length > MAX_TOASTS) region.firstElementChild?.remove();
  // What is read aloud is what comes into an element that is there.
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
 * Shows how something that takes a while goes on. It is shown only when it does take a while.
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
