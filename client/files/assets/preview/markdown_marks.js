// @ts-check
// What a Markdown file has beyond Markdown, as forges show it: anchors, boxes of tasks, notes, wide tables.

import { h } from "../../../../web/browser/dom.js";

/**
 * What can only be done when all is there: anchors, boxes of tasks, notes, tables that can be scrolled.
 * @param {HTMLElement} article
 */
export function finish(article) {
  /** @type {Map<string, number>} */
  const used = new Map();
  for (const heading of article.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const slug = toSlug(heading.textContent ?? "");
    const count = used.get(slug) ?? 0;
    used.set(slug, count + 1);
    if (heading instanceof HTMLElement) heading.dataset.slug = count === 0 ? slug : `${slug}-${count}`;
  }
  for (const item of article.querySelectorAll("li")) addTaskBox(item);
  for (const quote of article.querySelectorAll("blockquote")) markNote(quote);
  for (const table of article.querySelectorAll("table")) {
    const around = h("div", { class: "table wide", tabIndex: 0, role: "region", "aria-label": "Table" });
    table.replaceWith(around);
    around.append(table);
  }
}

/**
 * The name by which a link finds a heading, as forges make it.
 * @param {string} text
 */
export function toSlug(text) {
  return text.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, "").replace(/\s/g, "-");
}

/** @param {HTMLLIElement} item */
function addTaskBox(item) {
  const holder = item.firstElementChild?.tagName === "P" ? item.firstElementChild : item;
  const first = holder.firstChild;
  if (!(first instanceof Text)) return;
  const match = /^\[([ xX])\]\s+/.exec(first.data);
  if (match === null) return;
  first.data = first.data.slice(match[0].length);
  const label = (holder.textContent ?? "").trim().slice(0, 100);
  const isDone = match[1] !== " ";
  holder.prepend(h("input", { type: "checkbox", disabled: true, checked: isDone, "aria-label": label || "Task" }));
  item.classList.add("task");
}

/** @param {HTMLQuoteElement} quote */
function markNote(quote) {
  const first = quote.firstElementChild?.firstChild;
  if (!(first instanceof Text)) return;
  const match = /^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*/.exec(first.data);
  if (match === null) return;
  first.data = first.data.slice(match[0].length);
  const kind = match[1].toLowerCase();
  quote.classList.add("note", kind);
  quote.prepend(h("strong", {}, kind[0].toUpperCase() + kind.slice(1)));
}
