// @ts-check
// Files of text: as they are meant, and as their source.

import { colorCode } from "./code_color.js";
import { parseTable } from "./csv.js";
import { indentJson } from "../../../../common/readable/json_indent.js";
import { h, icon, iconButton } from "../../../../web/browser/dom.js";
import { formatCount, formatName } from "../../../../web/browser/format.js";
import { getEnding, getKind } from "../list/kinds.js";

/**
 * @typedef {import("./preview.js").Shown & { text: string, note: string }} ShownText `note`: what to tell of it, or ""
 *
 * A way to look at a file; `isText`: whether lines can be wrapped in it.
 * @typedef {{ label: string, isText: boolean, render: () => Promise<HTMLElement> | HTMLElement }} Look
 */

/** Rows and columns of a table shown. */
const MAX_ROWS = 2000;
const MAX_COLUMNS = 100;
/** Lines that get a number. */
const MAX_NUMBERS = 20_000;

/**
 * Shows a text.
 * @param {ShownText} shown
 * @returns {Promise<Node[]>}
 */
export async function showText(shown) {
  const looks = listLooks(shown);
  const stage = h("div", { class: "stage" });
  const wrap = iconButton("wrap", "Wrap long lines", () => {
    const isWrapped = wrap.getAttribute("aria-pressed") !== "true";
    wrap.setAttribute("aria-pressed", String(isWrapped));
    stage.classList.toggle("wrapped", isWrapped);
  }, { "aria-pressed": "false" });
  const copy = iconButton("copy", "Copy all", () => copyText(shown.text, copy));
  /** @param {number} index */
  const show = async (index) => {
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === index)));
    wrap.hidden = !looks[index].isText;
    stage.replaceChildren(await looks[index].render());
    if (shown.note !== "") stage.append(h("p", { class: "cut" }, shown.note));
  };
  const buttons = looks.map(({ label }, index) => h("button", { type: "button", onclick: () => show(index) }, label));
  await show(0);
  const ways = looks.length > 1
    ? h("div", { class: "switch", role: "group", "aria-label": "How to show it" }, ...buttons)
    : h("span");
  return [h("div", { class: "looks" }, ways, h("span", { class: "space" }), wrap, copy), stage];
}

/**
 * @param {ShownText} shown
 * @returns {Look[]}
 */
function listLooks(shown) {
  const { entry, path, text } = shown;
  const source = { label: "Source", isText: true, render: () => createCode(entry.name, text) };
  switch (getKind(entry)) {
    case "markdown":
      return [{ label: "Read", isText: false, render: () => createMarkdown(shown) }, source];
    case "html": {
      const render = () => h("iframe", { src: path, title: formatName(entry.name), sandbox: "" });
      return [{ label: "Page", isText: false, render }, source];
    }
    case "table":
      return [{ label: "Table", isText: false, render: () => createTable(entry.name, text) }, source];
  }
  const indented = /^(?:json|geojson|webmanifest|map)$/.test(getEnding(entry.name)) ? indentJson(text) : null;
  if (indented === null || indented === text) return [source];
  return [{ label: "Indented", isText: true, render: () => createCode(entry.name, indented) }, source];
}

/** @param {ShownText} shown */
async function createMarkdown({ text, path, actions }) {
  const { renderMarkdown } = await import("./markdown.js");
  return await renderMarkdown(text, { base: new URL(path, location.href), follow: actions.follow });
}

/**
 * @param {string} name
 * @param {string} text
 */
async function createCode(name, text) {
  const count = text.split("\n").length;
  const numbers = Array.from({ length: Math.min(count, MAX_NUMBERS) }, (_, index) => index + 1).join("\n");
  const code = h("code", {});
  code.append(await colorCode(text, getEnding(name)));
  return h(
    "div",
    { class: "code wide", tabIndex: 0, role: "region", "aria-label": `Text of ${formatName(name)}` },
    h("pre", { class: "numbers", "aria-hidden": "true" }, numbers),
    h("pre", { class: "lines" }, code),
  );
}

/**
 * @param {string} name
 * @param {string} text
 */
function createTable(name, text) {
  const [head = [], ...rows] = parseTable(text, { maxRows: MAX_ROWS + 2 });
  const isCut = rows.length > MAX_ROWS || head.length > MAX_COLUMNS;
  /** @param {readonly string[]} cells */
  const cut = (cells) => cells.slice(0, MAX_COLUMNS);
  const isNumber = head.map((_, column) =>
    rows.length > 0 && rows.every((row) => /^\s*-?[\d.,\s]*%?$/.test(row[column] ?? ""))
  );
  const table = h(
    "table",
    {},
    h("thead", {}, h("tr", {}, ...cut(head).map((cell) => h("th", { scope: "col" }, cell)))),
    h(
      "tbody",
      {},
      ...rows.slice(0, MAX_ROWS).map((row) =>
        h("tr", {}, ...cut(row).map((cell, column) => h("td", isNumber[column] ? { class: "number" } : {}, cell)))
      ),
    ),
  );
  const note = isCut
    ? h(
      "p",
      { class: "cut" },
      `Only the first ${formatCount(MAX_ROWS, "row")} and ${formatCount(MAX_COLUMNS, "column")} are shown.`,
    )
    : null;
  return h(
    "div",
    { class: "cells wide", tabIndex: 0, role: "region", "aria-label": `Table of ${formatName(name)}` },
    table,
    note,
  );
}

/**
 * Copies a text, and says on the button that it did.
 * @param {string} text
 * @param {HTMLButtonElement} button
 */
async function copyText(text, button) {
  const isCopied = await copy(text, button);
  button.replaceChildren(icon(isCopied ? "check" : "warn"));
  button.title = isCopied ? "Copied" : "The browser does not let us copy";
  button.setAttribute("aria-label", button.title);
  setTimeout(() => {
    button.replaceChildren(icon("copy"));
    button.title = "Copy all";
    button.setAttribute("aria-label", "Copy all");
  }, 2000);
}

/**
 * @param {string} text
 * @param {HTMLElement} near
 */
async function copy(text, near) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // On plain http, as on a local network, there is no clipboard; the old way is left.
    const field = h("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = text;
    near.after(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    near.focus();
    return isCopied;
  }
}
