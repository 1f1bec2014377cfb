// @ts-check
// The page of a share that only takes files: sends them one after the other and says how far each is.
// Without script the form does the same.

import { find } from "../../../web/browser/dom.js";

/** @typedef {{ file: File, row: HTMLElement, state: HTMLElement }} Waiting */

const form = find("#form", HTMLFormElement);
const input = find("#files", HTMLInputElement);
const list = find("#list", HTMLUListElement);
/** @type {Waiting[]} */
const waiting = [];
let isSending = false;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  add(input.files ?? []);
  input.value = "";
});
addEventListener("dragover", (event) => {
  event.preventDefault();
  form.classList.add("over");
});
addEventListener("dragleave", () => form.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  form.classList.remove("over");
  add(event.dataTransfer?.files ?? []);
});
addEventListener("beforeunload", (event) => {
  if (isSending) event.preventDefault();
});

/** @param {Iterable<File>} files */
function add(files) {
  for (const file of files) waiting.push({ file, ...createRow(file.name) });
  if (!isSending) sendAll();
}

/** @param {string} name */
function createRow(name) {
  const row = document.createElement("li");
  const [title, state] = [document.createElement("span"), document.createElement("span")];
  title.textContent = name;
  state.textContent = "waiting";
  row.append(title, state);
  list.prepend(row);
  return { row, state };
}

async function sendAll() {
  isSending = true;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { file, row, state } = next;
    const problem = await send(file, (share) => state.textContent = `${Math.floor(share * 100)} %`);
    state.textContent = problem ?? "sent";
    row.classList.toggle("failed", problem !== null);
  }
  isSending = false;
}

/**
 * Resolves with what went wrong, or null.
 * @param {File} file
 * @param {(share: number) => void} onProgress told the share that has been sent, from 0 to 1
 * @returns {Promise<string | null>}
 */
function send(file, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total));
    request.addEventListener("load", () => resolve(request.status < 300 ? null : describe(request)));
    request.addEventListener("error", () => resolve("the connection was lost"));
    request.open("PUT", `/${encodeURIComponent(file.name)}`);
    request.setRequestHeader("x-portway-page", "1");
    request.setRequestHeader("x-oc-mtime", String(file.lastModified / 1000));
    request.send(file);
  });
}

/** @param {XMLHttpRequest} request */
function describe({ status, responseText }) {
  try {
    const { error, message } = JSON.parse(responseText);
    return error.message ?? message;
  } catch {
    return `failed (${status})`;
  }
}
