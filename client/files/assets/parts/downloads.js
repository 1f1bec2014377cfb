// @ts-check
// Files, folders and picked entries sent to the disk of whoever looks at them.

import { toPath } from "./api.js";
import { h } from "../../../../web/browser/dom.js";

/** @typedef {import("./api.js").Names} Names */

/** @param {Names} file */
export function downloadFile(file) {
  location.assign(`${toPath(file, false)}?download`);
}

/** @param {Names} folder */
export function downloadFolder(folder) {
  location.assign(`${toPath(folder, true)}?zip`);
}

/**
 * Entries of a folder, in one zip: a form can name more of them than an address can.
 * @param {Names} folder
 * @param {readonly string[]} names
 */
export function downloadEntries(folder, names) {
  const form = h("form", { method: "post", action: `${toPath(folder, true)}?zip`, hidden: true });
  form.append(...names.map((name) => h("input", { type: "hidden", name: "name", value: name })));
  document.body.append(form);
  form.submit();
  form.remove();
}
