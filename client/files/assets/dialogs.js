// Questions and menus over the page.

import { h, icon } from "./dom.js";

/** Opens a modal dialog; resolves with what `finish(value)` is called with, or null when it is dismissed. */
export function openDialog(build, className = "") {
  return new Promise((resolve) => {
    let answer = null;
    const dialog = h("dialog", { class: `dialog ${className}` });
    const finish = (value) => {
      answer = value;
      dialog.close();
    };
    dialog.append(...build(finish, dialog));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Asks yes or no. */
export async function confirm({ title, text, action }) {
  return await openDialog((finish) => [
    h("h2", {}, title),
    h("p", {}, text),
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "button", class: "button", onclick: () => finish(null) }, "Cancel"),
      h("button", { type: "button", class: "danger", autofocus: true, onclick: () => finish(true) }, action),
    ),
  ]) === true;
}

/** Asks for a name. `check` returns what is wrong with one, or null. */
export async function askName({ title, label, value = "", action, check }) {
  return await openDialog((finish, dialog) => {
    const input = h("input", { type: "text", value, autofocus: true, autocomplete: "off", spellcheck: "false" });
    const problem = h("p", { class: "problem", role: "alert" });
    const form = h(
      "form",
      { method: "dialog" },
      h("h2", {}, title),
      h("label", {}, label, input),
      problem,
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "submit", class: "primary" }, action),
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      problem.textContent = check(input.value) ?? "";
      if (problem.textContent === "") finish(input.value);
    });
    const dot = value.lastIndexOf(".");
    queueMicrotask(() => input.setSelectionRange(0, dot > 0 ? dot : value.length));
    return [form];
  });
}

/** What is wrong with a name for a file or folder, or null. */
export function checkName(name) {
  if (name.trim() === "") return "A name is needed.";
  if (name === "." || name === ".." || /[/\\]/.test(name)) return "A name has no slashes and is not . or ..";
  if (name.startsWith(".portway")) return "This name is taken by the share itself.";
  return new TextEncoder().encode(name).length > 255 ? "This name is too long." : null;
}

/** A menu below an element: items are [icon, label, action, isDangerous]. */
export function openMenu(anchor, items) {
  const close = () => {
    menu.remove();
    removeEventListener("pointerdown", onOutside, true);
    removeEventListener("keydown", onKey, true);
  };
  const onOutside = (event) => !menu.contains(event.target) && close();
  const buttons = items.map(([name, label, action, isDangerous]) =>
    h(
      "button",
      {
        type: "button",
        role: "menuitem",
        class: isDangerous ? "dangerous" : "",
        onclick: () => {
          close();
          action();
        },
      },
      icon(name),
      label,
    )
  );
  const onKey = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (step === undefined) return;
    else buttons.at((buttons.indexOf(document.activeElement) + step) % buttons.length).focus();
    event.preventDefault();
    event.stopPropagation();
  };
  const menu = h("div", { class: "menu", role: "menu" }, ...buttons);
  document.body.append(menu);
  const box = anchor.getBoundingClientRect();
  menu.style.top = `${Math.max(8, Math.min(box.bottom + 4, innerHeight - menu.offsetHeight - 8))}px`;
  menu.style.left = `${Math.max(8, Math.min(box.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`;
  addEventListener("pointerdown", onOutside, true);
  addEventListener("keydown", onKey, true);
  buttons[0].focus();
}

/** A short message at the bottom of the page. */
export function toast(text, isProblem = false) {
  const element = h("div", { class: `toast${isProblem ? " bad" : ""}`, role: isProblem ? "alert" : "status" }, text);
  document.body.append(element);
  setTimeout(() => element.remove(), isProblem ? 7000 : 3000);
}
