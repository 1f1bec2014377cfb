// Markdown to elements. Nothing here makes markup out of text: elements are created one by one and text goes in as
// text, so a hostile file can show nonsense but cannot script the page.

import { h } from "./dom.js";
import { highlight } from "./highlight.js";

/** Characters of one line or paragraph that are looked into: a search in longer ones could take minutes. */
const MAX_LENGTH = 8000;
/** Quotes, lists and emphasis inside one another. */
const MAX_DEPTH = 30;
/** What has not been looked into after so long is shown as it is. */
const MAX_MS = 1000;

let stopAt = 0;
let depth = 0;

/**
 * Renders Markdown. Relative links and images are resolved against `base`, the URL of the file. A file that is made to
 * take long is shown as plain text from there on.
 */
export function renderMarkdown(text, base) {
  stopAt = performance.now() + MAX_MS;
  depth = 0;
  const article = h("article", { class: "markdown" });
  article.append(...renderBlocks(text.replace(/\r\n?/g, "\n").replace(/^---\n[^]*?\n---\n/, "").split("\n"), base));
  return article;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^(\s*)(?:([-*+])|(\d{1,9})[.)])(?:\s+(.*)|$)/;
const QUOTE = /^ {0,3}>\s?(.*)$/;
const TABLE_LINE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

function renderBlocks(lines, base) {
  if (depth >= MAX_DEPTH) return [h("p", {}, lines.join("\n"))];
  depth++;
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    const [block, next] = isLate()
      ? [h("p", {}, lines.slice(at).join("\n")), lines.length]
      : readBlock(lines, at, base);
    if (block !== null) blocks.push(block);
    at = next;
  }
  depth--;
  return blocks;
}

function isLate() {
  return performance.now() > stopAt;
}

/** The block that begins at a line, and the line after it. */
function readBlock(lines, at, base) {
  const line = lines[at];
  if (line.trim() === "") return [null, at + 1];
  if (line.length > MAX_LENGTH) return [h("p", {}, line), at + 1];
  if (FENCE.test(line)) return readFence(lines, at);
  const heading = HEADING.exec(line);
  if (heading !== null) return [h(`h${heading[1].length}`, {}, ...renderInline(heading[2], base)), at + 1];
  if (RULE.test(line)) return [h("hr"), at + 1];
  if (QUOTE.test(line)) return readQuote(lines, at, base);
  if (ITEM.test(line)) return readList(lines, at, base);
  if (line.includes("|") && TABLE_LINE.test((lines[at + 1] ?? "").slice(0, MAX_LENGTH))) {
    return readTable(lines, at, base);
  }
  return readParagraph(lines, at, base);
}

function readFence(lines, at) {
  const [, fence, language] = FENCE.exec(lines[at]);
  let end = at + 1;
  while (end < lines.length && !lines[end].trimStart().startsWith(fence)) end++;
  const code = h("code", {});
  code.append(highlight(lines.slice(at + 1, end).join("\n"), language.toLowerCase()));
  return [h("pre", {}, code), end + 1];
}

function readQuote(lines, at, base) {
  let end = at;
  const inner = [];
  while (end < lines.length && QUOTE.test(lines[end])) inner.push(QUOTE.exec(lines[end++])[1]);
  return [h("blockquote", {}, ...renderBlocks(inner, base)), end];
}

function readList(lines, at, base) {
  const [, indent, bullet, number] = ITEM.exec(lines[at]);
  const list = h(bullet ? "ul" : "ol", number && number !== "1" ? { start: Number(number) } : {});
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]);
    if (item === null || item[1].length > indent.length + 1 || Boolean(item[2]) !== Boolean(bullet)) break;
    const inner = [item[4] ?? ""];
    end++;
    while (end < lines.length && belongsToItem(lines, end, indent.length)) {
      inner.push(lines[end++].replace(/^ {1,4}/, ""));
    }
    list.append(createItem(inner, base));
    while (end < lines.length && lines[end].trim() === "" && ITEM.test(lines[end + 1] ?? "")) end++;
  }
  return [list, end];
}

function belongsToItem(lines, at, indent) {
  const line = lines[at];
  if (line.trim() === "") return /^\s{2,}\S/.test(lines[at + 1] ?? "");
  return /^\s/.test(line) && line.search(/\S/) > indent;
}

function createItem(inner, base) {
  const task = /^\[([ xX])\]\s+/.exec(inner[0]);
  if (task !== null) inner[0] = inner[0].slice(task[0].length);
  const blocks = renderBlocks(inner, base);
  const first = blocks[0];
  // A single paragraph in an item needs no margins of its own.
  const children = first?.tagName === "P" ? [...first.childNodes, ...blocks.slice(1)] : blocks;
  const box = task === null ? null : h("input", { type: "checkbox", disabled: true, checked: task[1] !== " " });
  return h("li", task === null ? {} : { class: "task" }, box, ...children);
}

function readTable(lines, at, base) {
  const aligns = splitCells(lines[at + 1]).map((cell) =>
    /^:.*:$/.test(cell) ? "center" : cell.endsWith(":") ? "end" : ""
  );
  const row = (line, tag) =>
    h(
      "tr",
      {},
      ...splitCells(line).map((cell, index) => h(tag, { class: aligns[index] }, ...renderInline(cell, base))),
    );
  const table = h("table", {}, h("thead", {}, row(lines[at], "th")));
  let end = at + 2;
  const body = h("tbody");
  while (end < lines.length && lines[end].length <= MAX_LENGTH && lines[end].includes("|")) {
    body.append(row(lines[end++], "td"));
  }
  table.append(body);
  return [h("div", { class: "table" }, table), end];
}

function splitCells(line) {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
}

function readParagraph(lines, at, base) {
  let end = at + 1;
  const isNext = (line) =>
    line.length > MAX_LENGTH || line.trim() === "" || FENCE.test(line) || HEADING.test(line) || RULE.test(line) ||
    QUOTE.test(line) ||
    /^\s{0,3}[-*+]\s/.test(line);
  while (end < lines.length && !isNext(lines[end])) {
    if (/^ {0,3}(?:=+|-+)\s*$/.test(lines[end])) {
      const tag = lines[end].includes("=") ? "h1" : "h2";
      return [h(tag, {}, ...renderInline(lines.slice(at, end).join(" "), base)), end + 1];
    }
    end++;
  }
  return [h("p", {}, ...renderInline(lines.slice(at, end).join("\n"), base)), end];
}

const INLINE = [
  [/^\\([\\`*_{}[\]()#+.!|~<>-])/, (match) => match[1]],
  [/^(`+)([^]*?[^`])\1(?!`)/, (match) => h("code", {}, match[2].trim())],
  [
    /^!\[([^\]]*)\]\(\s*<?([^)\s>]*)>?(?:\s+["'][^)]*["'])?\s*\)/,
    (match, base) => createImage(match[1], match[2], base),
  ],
  [
    /^\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]\(\s*<?([^)\s>]*)>?(?:\s+["'][^)]*["'])?\s*\)/,
    (match, base) => createLink(renderInline(match[1], base), match[2], base),
  ],
  [/^<(https?:\/\/[^\s>]+)>/, (match, base) => createLink([match[1]], match[1], base)],
  [/^https?:\/\/[^\s<>)\]]*[^\s<>)\].,;:!?'"]/, (match, base) => createLink([match[0]], match[0], base)],
  [/^\*\*(?=\S)([^]*?\S)\*\*/, (match, base) => h("strong", {}, ...renderInline(match[1], base))],
  [/^__(?=\S)([^]*?\S)__/, (match, base) => h("strong", {}, ...renderInline(match[1], base))],
  [/^~~(?=\S)([^]*?\S)~~/, (match, base) => h("s", {}, ...renderInline(match[1], base))],
  [/^\*(?=[^\s*])([^*]*[^\s*])\*/, (match, base) => h("em", {}, ...renderInline(match[1], base))],
  [/^_(?=[^\s_])([^_]*[^\s_])_(?!\w)/, (match, base) => h("em", {}, ...renderInline(match[1], base))],
  [/^(?: {2,}|\\)\n/, () => h("br")],
];

/** Runs of text in which nothing special can begin. */
const PLAIN = /^(?:(?!https?:\/\/)[^\\`*_~![<\nh ]|h(?!ttps?:\/\/))+/;

function renderInline(text, base) {
  if (text.length > MAX_LENGTH || depth >= MAX_DEPTH) return [text];
  depth++;
  const nodes = [];
  let rest = text;
  while (rest !== "" && !isLate()) {
    const [node, length] = readInline(rest, base, nodes.length > 0 && /\w$/.test(String(nodes.at(-1))));
    if (typeof node === "string" && typeof nodes.at(-1) === "string") nodes[nodes.length - 1] += node;
    else nodes.push(node);
    rest = rest.slice(length);
  }
  depth--;
  return rest === "" ? nodes : [...nodes, rest];
}

function readInline(rest, base, isAfterWord) {
  const plain = PLAIN.exec(rest);
  if (plain !== null) return [plain[0], plain[0].length];
  // snake_case_names are no emphasis.
  if (!(rest[0] === "_" && isAfterWord)) {
    for (const [pattern, create] of INLINE) {
      const match = pattern.exec(rest);
      if (match !== null) return [create(match, base), match[0].length];
    }
  }
  return [rest[0], 1];
}

/** An address that may be followed: http, https, mailto, or relative to the file; null for anything else. */
function resolve(address, base) {
  if (!URL.canParse(address, base)) return null;
  const url = new URL(address, base);
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url : null;
}

function createLink(children, address, base) {
  const url = resolve(address, base);
  if (url === null) return h("span", {}, ...children);
  const isOwn = url.origin === location.origin;
  return h("a", { href: url.href, rel: "noopener noreferrer", target: isOwn ? undefined : "_blank" }, ...children);
}

function createImage(label, address, base) {
  const url = resolve(address, base);
  // Other sites are not asked for anything because a file was looked at.
  if (url === null || url.origin !== location.origin) return h("span", { class: "missing" }, label || "image");
  return h("img", { src: url.href, alt: label, loading: "lazy" });
}
