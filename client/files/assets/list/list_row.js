// @ts-check
// One row of the list, made once and filled as often as something changes.

import { h, icon, iconButton, setText } from "../../../../web/browser/dom.js";
import { formatDate, formatFullDate, formatName, formatSize, splitName } from "../../../../web/browser/format.js";
import { getIcon, getKind } from "./kinds.js";
import { showThumbnail } from "./thumbnail.js";

/**
 * @typedef {import("../parts/api.js").Entry} Entry
 * @typedef {{ root: HTMLElement, box: HTMLInputElement, link: HTMLAnchorElement, size: HTMLElement, date: HTMLTimeElement,
 *   more: HTMLButtonElement, entry: Entry }} Row
 */

/**
 * @param {Entry} entry
 * @param {string | null} picture where an image is that is shown as itself
 * @returns {Row}
 */
export function createRow(entry, picture) {
  const kind = getKind(entry);
  const name = formatName(entry.name);
  const slash = name.lastIndexOf("/");
  const [start, end] = splitName(name.slice(slash + 1));
  const box = h("input", { type: "checkbox", class: "box", tabIndex: -1, "aria-label": `Select ${name}` });
  const link = h(
    "a",
    { class: "name", tabindex: "-1", title: name, draggable: "false" },
    slash < 0 ? null : h("small", {}, name.slice(0, slash + 1)),
    ...(end === "" ? [start] : [h("span", { class: "start" }, start), h("span", { class: "end" }, end)]),
  );
  const sign = h("span", { class: "picture" }, icon(getIcon(kind), `kind ${kind}`));
  const size = h("div", { class: "size", role: "gridcell" });
  const date = h("time", {});
  const more = iconButton("more", `Actions for ${name}`, null, {
    className: "more",
    tabindex: "-1",
    "aria-haspopup": "menu",
  });
  const root = h(
    "div",
    { class: "row", role: "row", draggable: "true" },
    h("div", { class: "c-box", role: "gridcell" }, box),
    h("div", { class: "c-name", role: "gridcell" }, sign, link),
    size,
    h("div", { class: "date", role: "gridcell" }, date),
    h("div", { class: "c-more", role: "gridcell" }, more),
  );
  if (picture !== null && kind === "image") showThumbnail(sign, entry, picture);
  return { root, box, link, size, date, more, entry };
}

/**
 * @param {Row} row
 * @param {Entry} entry
 * @param {object} place
 * @param {number} place.index
 * @param {string} place.href
 * @param {boolean} place.isSelected
 * @param {boolean} place.isCurrent whether the keys are at it
 */
export function fillRow(row, entry, { index, href, isSelected, isCurrent }) {
  const { root } = row;
  row.entry = entry;
  root.id = `row-${index}`;
  root.dataset.index = String(index);
  root.setAttribute("aria-rowindex", String(index + 2));
  root.setAttribute("aria-selected", String(isSelected));
  root.classList.toggle("selected", isSelected);
  root.classList.toggle("current", isCurrent);
  row.box.checked = isSelected;
  row.link.href = href;
  setText(row.size, entry.kind === "folder" ? "" : formatSize(entry.size));
  setText(row.date, formatDate(entry.modified));
  row.date.title = formatFullDate(entry.modified);
  row.date.dateTime = new Date(entry.modified).toISOString();
}
