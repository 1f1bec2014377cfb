// @ts-check
// Modal dialogs.

import { h } from "./dom.js";

/**
 * Opens a modal dialog. Resolves with the value that `finish` gets, or with null when the user dismisses the dialog.
 * The focus then returns to its former element.
 * @template T
 * @param {(finish: (value: T | null) => void) => Node[]} build
 * @param {{ className?: string, title: string }} options
 * @returns {Promise<T | null>}
 */
export function openDialog(build, { className = "", title }) {
  return new Promise((resolve) => {
    /** @type {T | null} */
    let answer = null;
    const before = document.activeElement;
    const dialog = h("dialog", { class: `dialog ${className}`, "aria-label": title });
    dialog.append(
      h("h2", {}, title),
      ...build((value) => {
        answer = value;
        dialog.close();
      }),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
      resolve(answer);
    });
    // Only a press that begins on the backdrop dismisses: selecting text can end a press outside the dialog.
    dialog.addEventListener("pointerdown", (event) => event.target === dialog && dialog.close());
    document.body.append(dialog);
    dialog.showModal();
    // A long dialog opens at its top, wherever the focus is.
    dialog.scrollTop = 0;
  });
}

/**
 * @param {string} label
 * @param {() => void} onclick
 * @param {"button" | "primary" | "danger"} [className]
 * @param {boolean} [isFirst] whether it gets the focus when the dialog opens
 */
export function createButton(label, onclick, className = "button", isFirst = false) {
  return h("button", { type: "button", class: className, autofocus: isFirst, onclick }, label);
}

/**
 * Asks the user to confirm an action. "Cancel" has the focus, so that Enter does nothing irreversible.
 * @param {{ title: string, text: string, action: string }} question
 */
export async function confirm({ title, text, action }) {
  const answer = await openDialog(
    /** @param {(value: boolean | null) => void} finish */
    (finish) => [
      h("p", {}, text),
      h(
        "div",
        { class: "buttons" },
        createButton("Cancel", () => finish(null), "button", true),
        createButton(action, () => finish(true), "danger"),
      ),
    ],
    { title },
  );
  return answer === true;
}

/**
 * Shows a message with a list that the user closes.
 * @param {{ title: string, text: string, lines: readonly string[] }} message
 */
export async function tell({ title, text, lines }) {
  await openDialog(
    (finish) => [
      h("p", {}, text),
      h("ul", { class: "told", tabIndex: 0 }, ...lines.map((line) => h("li", {}, line))),
      h("div", { class: "buttons" }, createButton("Close", () => finish(null), "primary", true)),
    ],
    { title },
  );
}

/**
 * Asks for a name. `check` returns the problem with a name, or null.
 * @param {{ title: string, label: string, value?: string, action: string, check: (name: string) => string | null }} question
 * @returns {Promise<string | null>}
 */
export async function askName({ title, label, value = "", action, check }) {
  return await openDialog((finish) => {
    const input = h("input", {
      type: "text",
      value,
      autofocus: true,
      autocomplete: "off",
      spellcheck: "false",
      "aria-describedby": "name-problem",
    });
    const problem = h("p", { class: "problem", role: "alert", id: "name-problem" });
    const form = h(
      "form",
      { method: "dialog" },
      h("label", {}, label, input),
      problem,
      h(
        "div",
        { class: "buttons" },
        createButton("Cancel", () => finish(null)),
        h("button", { type: "submit", class: "primary" }, action),
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      problem.textContent = check(input.value) ?? "";
      input.setAttribute("aria-invalid", String(problem.textContent !== ""));
      if (problem.textContent === "") finish(input.value);
    });
    const dot = value.lastIndexOf(".");
    queueMicrotask(() => input.setSelectionRange(0, dot > 0 ? dot : value.length));
    return [form];
  }, { title });
}

/**
 * Returns the problem with a name for a file or folder, or null.
 * @param {string} name
 */
export function checkName(name) {
  if (name.trim() === "") return "A name is needed.";
  if (name === "." || name === ".." || /[/\\]/.test(name)) return "A name has no slashes and is not . or ..";
  if (name.startsWith(".portway")) return "This name is taken by the share itself.";
  return new TextEncoder().encode(name).length > 255 ? "This name is too long." : null;
}
