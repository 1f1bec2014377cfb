// @ts-check
// Helpers that build elements. They insert text as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {string | number | boolean | null | undefined | EventListener} Property
 * @typedef {Node | string | null | undefined | readonly (Node | string)[]} Child
 */

/**
 * Creates an element. Properties that begin with "on" become listeners, the others properties or attributes. Null,
 * undefined and false omit them.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Readonly<Record<string, Property>>} properties
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = String(value);
    else if (name in element && typeof value !== "string") Reflect.set(element, name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** @type {Readonly<Record<string, string>>} */
const SHAPES = {
  folder:
    "M3 7.5A2.5 2.5 0 0 1 5.5 5h3.600l2.400 2.800h7A2.5 2.5 0 0 1 21 10.300v6.200a2.5 2.5 0 0 1-2.5 2.5h-13A2.5 2.5 0 0 1 3 16.5z",
  file: "M6 3.5h8l4.5 4.5v12.5H6zM13.5 3.5V8.5h5",
  image: "M4 5h16v14H4zM4 16l4.5-4.5 4 4 2.5-2.5 5 5M15.5 9.300a.8.8 0 1 0 0-.1",
  video: "M3.5 6h12v12h-12zM15.5 10.5l5-3v9l-5-3z",
  audio: "M9 18V6l10-2v12M9 18a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM19 16a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z",
  code: "M8.5 8L4.5 12l4 4M15.5 8l4 4-4 4M13.5 5.5l-3 13",
  text: "M6 3.5h12v17H6zM9 8h6M9 12h6M9 16h4",
  pdf: "M6 3.5h8l4.5 4.5v12.5H6zM9 16.5v-4h1.5a1.200 1.200 0 0 1 0 2.400H9M14 12.5h2.5M14 16.5v-4M14 14.5h2",
  archive: "M5 4h14v16H5zM12 4v2M12 8v2M12 12v2M10.5 16h3v2.5h-3z",
  upload: "M12 16V5M7.5 9.5L12 5l4.5 4.5M4.5 15.5v2A2.5 2.5 0 0 0 7 20h10a2.5 2.5 0 0 0 2.5-2.5v-2",
  download: "M12 4.5v11M7.5 11l4.5 4.5 4.5-4.5M4.5 15.5v2A2.5 2.5 0 0 0 7 20h10a2.5 2.5 0 0 0 2.5-2.5v-2",
  newfolder:
    "M3 7.5A2.5 2.5 0 0 1 5.5 5h3.600l2.400 2.800h7A2.5 2.5 0 0 1 21 10.300v6.200a2.5 2.5 0 0 1-2.5 2.5h-13A2.5 2.5 0 0 1 3 16.5zM12 10.800v5M9.5 13.300h5",
  search: "M10.800 17.100a6.300 6.300 0 1 0 0-12.600 6.300 6.300 0 0 0 0 12.600zM15.5 15.5l4.5 4.5",
  close: "M6 6l12 12M18 6L6 18",
  trash: "M4.5 6.5h15M9.5 6.5v-2h5v2M6.5 6.5l1 13.5h9l1-13.5M10.300 10.5v5.5M13.700 10.5v5.5",
  rename: "M4.5 19.5l1-4L16 5l3 3L8.5 18.5zM13.800 7.200l3 3",
  move:
    "M3 7.5A2.5 2.5 0 0 1 5.5 5h3.600l2.400 2.800h7A2.5 2.5 0 0 1 21 10.300v6.200a2.5 2.5 0 0 1-2.5 2.5h-13A2.5 2.5 0 0 1 3 16.5zM8 13.400h7M12.5 10.800l2.700 2.600-2.700 2.600",
  pause: "M8.5 6v12M15.5 6v12",
  play: "M8 5.5l11 6.5-11 6.5z",
  retry: "M19.5 12a7.5 7.5 0 1 1-2.300-5.400M19.5 4v4h-4",
  check: "M5 12.5l4.5 4.5L19 7.5",
  warn: "M12 4l9 16H3zM12 10v4.5M12 17.200v.1",
  moon: "M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z",
  left: "M14.5 5.5L8 12l6.5 6.5",
  right: "M9.5 5.5L16 12l-6.5 6.5",
  home: "M4 11l8-7 8 7v8.5h-5.5V14h-5v5.5H4z",
  more: "M6 12h.1M12 12h.1M18 12h.1",
  open: "M13.5 4.5h6v6M19.5 4.5l-8.5 8.5M17.5 14v5.5h-13v-13H10",
  signout: "M14 4.5H5.5v15H14M10 12h10M16.5 8.5L20 12l-3.5 3.5",
  help:
    "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM9.700 9.700a2.400 2.400 0 1 1 3.5 2.200c-.8.4-1.200.9-1.200 1.700M12 16.600v.1",
  fold: "M5.5 9.5L12 16l6.5-6.5",
  unfold: "M5.5 14.5L12 8l6.5 6.5",
  undo: "M8.5 5L4.5 9l4 4M5 9h9a5.5 5.5 0 0 1 0 11h-4",
  keyboard: "M3.5 7h17v10.5h-17zM7 10.500h.1M10.300 10.500h.1M13.600 10.500h.1M17 10.500h.1M8 14.200h8",
  tiles: "M4.5 4.500h6v6h-6zM13.5 4.500h6v6h-6zM4.5 13.500h6v6h-6zM13.5 13.500h6v6h-6z",
  rows: "M4.5 7h15M4.5 12h15M4.5 17h15",
  copy: "M9 8.500h10.500v12H9zM15 8.500v-5H4.500v12H9",
  wrap: "M4.500 6h15M4.500 12h12a3 3 0 0 1 0 6h-4M15 15.500L12.500 18l2.500 2.500M4.500 18h4",
  up: "M12 19V5.5M6.5 11L12 5.5l5.5 5.5",
};

/**
 * Returns a line icon by name. Icons are decoration, so each needs text beside it or a label.
 * @param {string} name
 * @param {string} className
 */
export function icon(name, className = "") {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon ${className}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

/**
 * Returns a button with an icon. Without `text` the label is its accessible name.
 * @param {string} name the icon's name
 * @param {string} label
 * @param {EventListener | null} onclick
 * @param {Readonly<Record<string, Property>> & { text?: string, className?: string }} options
 */
export function iconButton(name, label, onclick, { text = "", className = "tool", ...rest } = {}) {
  // Speech input finds a button by its visible text, so a different label must not replace the text.
  const named = text === "" ? { "aria-label": label, title: label } : { title: label };
  return h(
    "button",
    { type: "button", class: className, ...named, onclick, ...rest },
    icon(name),
    text === "" ? null : h("span", {}, text),
  );
}

/**
 * Returns an event's target element.
 * @param {Event} event
 */
export function getTarget(event) {
  return event.target instanceof Element ? event.target : document.documentElement;
}

/**
 * Sets an element's text unless it has that text already, so that screen readers read only changes.
 * @param {HTMLElement} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Returns an element that the page is made with.
 * @throws Error when the page lacks it, which is a defect
 * @template {HTMLElement} T
 * @param {string} selector
 * @param {new () => T} type
 * @returns {T}
 */
export function find(selector, type) {
  const element = document.querySelector(selector);
  if (!(element instanceof type)) throw new Error(`the page has no ${selector}`);
  return element;
}

/**
 * Saves bytes as a file on the user's machine.
 * @param {string} name
 * @param {BlobPart[]} parts
 */
export function saveFile(name, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
