// @ts-check

/**
 * An element with attributes and what is in it. Texts stay texts: nothing here reads HTML.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Readonly<Record<string, string>>} [attributes]
 * @param {readonly (Node | string)[]} [children]
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes = {}, children = []) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * The element of an id.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {{ new (): T }} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * Saves bytes as a file.
 * @param {string} name
 * @param {BlobPart[]} parts
 */
export function saveFile(name, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * Names and values, a row each.
 * @param {readonly (readonly [string, string])[]} rows
 */
export function table(rows) {
  const lines = rows.map(([name, value]) =>
    element("tr", {}, [element("th", { scope: "row" }, [name]), element("td", {}, [value])])
  );
  return element("table", { class: "pairs" }, [element("tbody", {}, lines)]);
}

/**
 * Text as it is, which keys can scroll.
 * @param {string} text
 */
export function pre(text) {
  return element("pre", { tabindex: "0" }, [text]);
}
