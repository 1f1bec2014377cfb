// @ts-check
// Where links and images of a Markdown file lead: to the share, in the page, or to other sites.

import { h } from "../../../../web/browser/dom.js";

/** @typedef {import("./markdown.js").Place} Place */

/**
 * An address that may be followed: http, https, mailto, or relative to the file; null for anything else.
 * @param {Place} place
 * @param {string} address
 */
function resolve({ base }, address) {
  if (!URL.canParse(address, base.href)) return null;
  const url = new URL(address, base.href);
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url : null;
}

/**
 * @param {Place} place
 * @param {string} address
 */
export function createLink(place, address) {
  const url = resolve(place, address);
  if (url === null) return h("span", {});
  if (url.origin !== location.origin) return h("a", { href: url.href, rel: "noopener noreferrer", target: "_blank" });
  const link = h("a", { href: url.href });
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (url.pathname === place.base.pathname && url.hash !== "") return scrollTo(link, url.hash);
    const names = url.pathname.split("/").filter((part) => part !== "").map(decodeURIComponent);
    place.follow(names, url.pathname.endsWith("/"));
  });
  return link;
}

/**
 * @param {HTMLElement} link
 * @param {string} hash
 */
function scrollTo(link, hash) {
  const slug = decodeURIComponent(hash.slice(1));
  for (const element of link.closest("article")?.querySelectorAll("[data-slug]") ?? []) {
    if (!(element instanceof HTMLElement) || element.dataset.slug !== slug) continue;
    element.scrollIntoView();
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    return;
  }
}

/**
 * @param {Place} place
 * @param {string} address
 * @param {string} label
 */
export function createImage(place, address, label) {
  const url = resolve(place, address);
  // Other sites are not asked for anything because a file was looked at.
  if (url === null || url.origin !== location.origin) return h("span", { class: "missing" }, label || "image");
  return h("img", { src: url.href, alt: label, loading: "lazy" });
}
