// @ts-check
// The way to the open folder, each part of it a link.

import { toPath } from "./api.js";
import { h, icon } from "../../../../web/browser/dom.js";
import { formatName } from "../../../../web/browser/format.js";

/** @typedef {import("./api.js").Names} Names */

/**
 * @param {object} way
 * @param {Names} way.names
 * @param {string | null} way.searched
 * @param {string} way.shareName
 * @param {(names: Names) => void} navigate
 */
export function createCrumbs({ names, searched, shareName }, navigate) {
  /**
   * @param {readonly (Node | string)[]} label
   * @param {Names} target
   */
  const crumb = (label, target) => {
    const isLast = target.length === names.length;
    const link = h("a", { href: toPath(target, true), "aria-current": isLast ? "page" : undefined }, ...label);
    link.dataset.depth = String(target.length);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      navigate(target);
    });
    return link;
  };
  const home = crumb([icon("home"), h("span", { class: "root" }, formatName(shareName))], []);
  const all = names.map((name, index) => crumb([formatName(name)], names.slice(0, index + 1)));
  const spaced = [home, ...all].flatMap((part, index) => index === 0 ? [part] : [icon("right", "gap"), part]);
  return searched === null ? spaced : [...spaced, icon("right", "gap"), h("em", {}, `“${searched}”`)];
}
