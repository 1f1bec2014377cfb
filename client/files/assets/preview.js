// Files shown without leaving the page.

import { send, toPath } from "./api.js";
import { h, icon, iconButton } from "./dom.js";
import { formatBytes, formatFullDate, formatName } from "./format.js";
import { highlight } from "./highlight.js";
import { getEnding, getIcon, getKind } from "./kinds.js";
import { renderMarkdown } from "./markdown.js";

/** Bytes of text shown; more would be slow and nobody reads it here. */
const MAX_TEXT = 1024 * 1024;

/**
 * Makes the preview. `actions.step(direction)` shows the next file, `actions.onclose(entry)` is told of the end.
 */
export function createPreview(actions) {
  let dialog = null;
  let shown = null;
  let abort = new AbortController();

  function show(names, entry) {
    abort.abort();
    abort = new AbortController();
    if (dialog === null) open();
    shown = entry;
    const path = toPath(names, false);
    const body = h("div", { class: "body" });
    dialog.replaceChildren(createHead(entry, path, actions, close), body);
    dialog.setAttribute("aria-label", formatName(entry.name));
    fill(body, entry, path, abort.signal);
  }

  function open() {
    dialog = h("dialog", { class: "preview", tabIndex: -1 });
    dialog.addEventListener("keydown", onKey);
    dialog.addEventListener("close", () => {
      abort.abort();
      dialog.remove();
      dialog = null;
      actions.onclose(shown);
    });
    dialog.addEventListener("click", (event) => event.target.classList.contains("body") && close());
    document.body.append(dialog);
    dialog.showModal();
    dialog.focus();
  }

  function onKey(event) {
    const isMedia = event.target.closest("video, audio");
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || isMedia) return;
    event.preventDefault();
    actions.step(step);
  }

  function close() {
    dialog?.close();
  }

  return { show, close, isOpen: () => dialog !== null };
}

function createHead(entry, path, actions, close) {
  return h(
    "header",
    {},
    icon(getIcon(getKind(entry)), `kind ${getKind(entry)}`),
    h("div", { class: "words" }, h("strong", {}, formatName(entry.name)), h("span", {}, describe(entry))),
    iconButton("left", "Previous", () => actions.step(-1)),
    iconButton("right", "Next", () => actions.step(1)),
    h("a", {
      class: "tool",
      href: path,
      target: "_blank",
      rel: "noopener",
      title: "Open in a tab",
      "aria-label": "Open in a tab",
    }, icon("open")),
    h("a", { class: "tool", href: `${path}?download`, title: "Download", "aria-label": "Download" }, icon("download")),
    iconButton("close", "Close", close),
  );
}

function describe(entry) {
  return `${formatBytes(entry.size)} · ${formatFullDate(entry.modified)}`;
}

async function fill(body, entry, path, signal) {
  try {
    body.replaceChildren(...await createContent(entry, path, signal));
  } catch (error) {
    if (error.name !== "AbortError") body.replaceChildren(createCard(entry, path, error.message));
  }
}

async function createContent(entry, path, signal) {
  const kind = getKind(entry);
  const fallBack = (element) => {
    element.addEventListener("error", () => element.replaceWith(createCard(entry, path, "This cannot be shown here.")));
    return [element];
  };
  switch (kind) {
    case "image":
      return fallBack(h("img", { src: path, alt: formatName(entry.name), class: "shown" }));
    case "video":
      return fallBack(h("video", { src: path, controls: true, autoplay: true, playsinline: true }));
    case "audio":
      return [
        h(
          "div",
          { class: "sound" },
          icon("audio", "kind audio"),
          ...fallBack(h("audio", { src: path, controls: true, autoplay: true })),
        ),
      ];
    case "pdf":
      return [h("iframe", { src: path, title: formatName(entry.name) })];
    case "html":
      return await createSwitch(
        entry,
        path,
        signal,
        "Page",
        () => h("iframe", { src: path, title: formatName(entry.name), sandbox: "" }),
      );
    case "markdown":
      return await createSwitch(
        entry,
        path,
        signal,
        "Read",
        (text) => renderMarkdown(text, new URL(path, location.href).href),
      );
    case "archive":
      return [createCard(entry, path)];
    default:
      return [await createText(entry, path, signal)];
  }
}

/** A file with two looks: as it is meant, and as its source. */
async function createSwitch(entry, path, signal, label, render) {
  const { text } = await fetchText(path, signal);
  const stage = h("div", { class: "stage" });
  const looks = [[label, () => render(text)], ["Source", () => createCode(entry, text)]];
  const buttons = looks.map(([name, make], index) =>
    h("button", {
      type: "button",
      onclick: () => {
        stage.replaceChildren(make());
        buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === index)));
      },
    }, name)
  );
  buttons[0].click();
  return [h("div", { class: "switch", role: "group" }, ...buttons), stage];
}

async function createText(entry, path, signal) {
  const { text, isBinary, isCut } = await fetchText(path, signal);
  if (isBinary) return createCard(entry, path);
  const code = createCode(entry, text);
  if (isCut) code.append(h("p", { class: "cut" }, `Only the first ${formatBytes(MAX_TEXT)} are shown.`));
  return code;
}

function createCode(entry, text) {
  const count = text.split("\n").length;
  const numbers = Array.from({ length: Math.min(count, 20_000) }, (_, index) => index + 1).join("\n");
  const code = h("code", {});
  code.append(highlight(text, getEnding(entry.name)));
  return h(
    "div",
    { class: "code" },
    h("pre", { class: "numbers", "aria-hidden": "true" }, numbers),
    h("pre", { class: "lines" }, code),
  );
}

async function fetchText(path, signal) {
  const response = await send("GET", path, { signal, headers: { range: `bytes=0-${MAX_TEXT - 1}`, accept: "*/*" } })
    .catch((error) => {
      // 416: an empty file has no first byte.
      if (error.status === 416) return new Response("");
      throw error;
    });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const charset = /charset=([\w-]+)/.exec(response.headers.get("content-type") ?? "")?.[1] ?? "utf-8";
  const isBinary = !charset.startsWith("utf-16") && bytes.subarray(0, 8192).includes(0);
  const total = Number(/\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1] ?? bytes.length);
  return { text: isBinary ? "" : new TextDecoder(charset).decode(bytes), isBinary, isCut: total > bytes.length };
}

function createCard(entry, path, note = "There is no preview for this kind of file.") {
  const kind = getKind(entry);
  return h(
    "div",
    { class: "card" },
    icon(getIcon(kind), `kind ${kind}`),
    h("h2", {}, formatName(entry.name)),
    h("p", {}, describe(entry)),
    h("p", {}, note),
    h("a", { class: "primary", href: `${path}?download` }, icon("download"), "Download"),
  );
}
