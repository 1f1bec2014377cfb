// @ts-check
// Markdown to elements, by markdown-it. It gives us tokens, of which we make the elements one by one: text goes in as
// text, and of HTML in the file only what is listed here becomes an element, without its scripts and styles.

import { colorCode } from "./code_color.js";
import { h } from "../../../../web/browser/dom.js";
import { createImage, createLink } from "./markdown_links.js";
import { finish } from "./markdown_marks.js";

/**
 * The part of a token of markdown-it that is used.
 * @typedef {object} Token
 * @property {string} type
 * @property {string} tag
 * @property {1 | 0 | -1} nesting
 * @property {string} content
 * @property {string} info
 * @property {boolean} hidden
 * @property {Token[] | null} children
 * @property {(name: string) => string | null} attrGet
 *
 * @typedef {object} Parser
 * @property {(text: string, env: object) => Token[]} parse
 * @property {{ set: (options: object) => void }} linkify
 *
 * Where the file is, and what follows a link to another one of the share.
 * @typedef {{ base: URL, follow: (names: readonly string[], isFolder: boolean) => void }} Place
 */

/** Characters of a piece of HTML, or of the facts before the text, that are looked into. */
const MAX_LINE = 20_000;
/** What has not been made into elements after so long is shown as it is. */
const MAX_MS = 1500;
/** Elements inside one another. */
const MAX_DEPTH = 60;

const HTML_TAGS = new Set(
  ("a abbr b blockquote br center code dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins " +
    "kbd li mark ol p picture pre s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var")
    .split(" "),
);
const VOID_TAGS = new Set(["br", "hr", "img"]);
/** Elements that go with all that is in them. */
const DROPPED = "script|style|iframe|object|embed|template|noscript|title|textarea|select|svg|math";
const HTML_PARTS = new RegExp(
  `<!--[^]*?(?:-->|$)|<(${DROPPED})\\b[^]*?(?:</\\1\\s*>|$)|<(/?)([a-z][a-z0-9]*)((?:[^>"']|"[^"]*"|'[^']*')*)>|[^<]+|<`,
  "gi",
);

/** @type {Promise<Parser> | null} */
let loading = null;

/**
 * Renders Markdown. Relative links and images are resolved against the address of the file.
 * @param {string} text
 * @param {Place} place
 */
export async function renderMarkdown(text, place) {
  const parser = await (loading ??= load());
  const article = h("article", { class: "markdown", tabIndex: -1 });
  const [front, body] = splitFrontMatter(text.replace(/\r\n?/g, "\n"));
  const tokens = parser.parse(body, {});
  const builder = new Builder(article, place);
  if (front !== "") builder.addCode(front, "yaml");
  builder.addAll(tokens);
  await builder.colored;
  finish(article);
  return article;
}

async function load() {
  const module = await import(new URL("../lib-markdown-it.js", import.meta.url).href);
  /** @type {Parser} */
  const parser = new module.default({ html: true, linkify: true });
  // Only what begins with http:// is a link: "README.md" is a file and not a site of Moldova.
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  return parser;
}

/**
 * Facts about the text that stand before it, between two lines of dashes.
 * @param {string} text
 * @returns {[string, string]}
 */
function splitFrontMatter(text) {
  const match = /^---\n([^]*?)\n---(?:\n|$)/.exec(text.slice(0, MAX_LINE));
  return match === null ? ["", text] : [match[1], text.slice(match[0].length)];
}

/** Makes elements of tokens. */
class Builder {
  /** Resolves when all code has its colours. */
  colored = Promise.resolve();
  #place;
  /** @type {{ element: Element, isHtml: boolean }[]} */
  #open;
  #stopAt = performance.now() + MAX_MS;
  /**
   * The tag whose insides are left out up to its end, when that is not in the same piece of HTML.
   * @type {string | null}
   */
  #dropped = null;

  /**
   * @param {HTMLElement} root
   * @param {Place} place
   */
  constructor(root, place) {
    this.#place = place;
    this.#open = [{ element: root, isHtml: false }];
  }

  get #top() {
    return this.#open[this.#open.length - 1].element;
  }

  /** @param {readonly Token[]} tokens */
  addAll(tokens) {
    for (const token of tokens) {
      if (performance.now() > this.#stopAt) this.#top.append(token.content);
      else this.#add(token);
    }
  }

  /**
   * @param {string} text
   * @param {string} language
   */
  addCode(text, language) {
    const code = h("code", {}, text);
    const pre = h("pre", { tabIndex: 0, class: "wide" }, code);
    this.#top.append(pre);
    if (language === "") return;
    const coloring = colorCode(text, language).then((nodes) => code.replaceChildren(nodes));
    this.colored = this.colored.then(() => coloring);
  }

  /** @param {Token} token */
  #add(token) {
    const isHtml = token.type === "html_inline" || token.type === "html_block";
    if (this.#dropped !== null && !isHtml) return;
    switch (token.type) {
      case "inline":
        this.addAll(token.children ?? []);
        this.#dropped = null;
        return;
      case "text":
      case "text_special":
        return this.#top.append(token.content);
      case "softbreak":
        return this.#top.append("\n");
      case "code_inline":
        return this.#top.append(h("code", {}, token.content));
      case "fence":
      case "code_block":
        return this.addCode(token.content, token.info.trim().split(/[\s{,:]/)[0]);
      case "image":
        return this.#top.append(
          createImage(this.#place, token.attrGet("src") ?? "", collectText(token.children ?? [])),
        );
      case "html_inline":
        return this.#addHtml(token.content);
      case "html_block":
        this.#addHtml(token.content);
        this.#dropped = null;
        return;
    }
    // A paragraph of a list whose items stand close together.
    if (token.hidden) return;
    if (token.nesting === -1) return this.#close();
    const element = this.#create(token);
    if (token.nesting === 1) this.#push(element, false);
    else this.#top.append(element);
  }

  /** @param {Token} token */
  #create(token) {
    if (token.type === "link_open") return createLink(this.#place, token.attrGet("href") ?? "");
    const element = document.createElement(HTML_TAGS.has(token.tag) ? token.tag : "span");
    const start = token.attrGet("start");
    if (start !== null) element.setAttribute("start", start);
    const align = /text-align:(center|right)/.exec(token.attrGet("style") ?? "")?.[1];
    if (align !== undefined) element.classList.add(align);
    return element;
  }

  /**
   * @param {Element} element
   * @param {boolean} isHtml
   */
  #push(element, isHtml) {
    this.#top.append(element);
    // What lies deeper than anybody writes stays where it is.
    this.#open.push({ element: this.#open.length > MAX_DEPTH ? this.#top : element, isHtml });
  }

  /** Ends what Markdown began, and before that what HTML left open in it. */
  #close() {
    while (this.#open.length > 1 && this.#open.pop()?.isHtml);
  }

  /** @param {string} html */
  #addHtml(html) {
    if (html.length > MAX_LINE) return this.#top.append(html);
    for (const [part, dropped, slash, tag, attributes] of html.matchAll(HTML_PARTS)) {
      if (this.#dropped !== null) {
        if (slash !== "/" || tag.toLowerCase() !== this.#dropped) continue;
        this.#dropped = null;
      }
      if (dropped !== undefined && !/<\/\w+\s*>$/.test(part)) this.#dropped = dropped.toLowerCase();
      if (part.startsWith("<!--") || dropped !== undefined) continue;
      if (tag === undefined) this.#top.append(decodeEntities(part));
      else if (slash !== "") this.#closeHtml(tag.toLowerCase());
      else if (HTML_TAGS.has(tag.toLowerCase())) this.#openHtml(tag.toLowerCase(), readAttributes(attributes));
    }
  }

  /**
   * @param {string} tag
   * @param {ReadonlyMap<string, string>} attributes
   */
  #openHtml(tag, attributes) {
    const element = this.#createHtml(tag, attributes);
    const align = attributes.get("align");
    if (align === "center" || align === "right") element.classList.add(align);
    if (tag === "center") element.classList.add("center");
    if (tag === "details" && attributes.has("open")) element.setAttribute("open", "");
    const id = attributes.get("id") ?? attributes.get("name");
    if (id !== undefined && element instanceof HTMLElement) element.dataset.slug = id;
    if (VOID_TAGS.has(tag)) this.#top.append(element);
    else this.#push(element, true);
  }

  /**
   * @param {string} tag
   * @param {ReadonlyMap<string, string>} attributes
   */
  #createHtml(tag, attributes) {
    const href = attributes.get("href");
    if (tag === "a" && href !== undefined) return createLink(this.#place, href);
    if (tag !== "img") return document.createElement(tag === "picture" || tag === "center" ? "div" : tag);
    const image = createImage(this.#place, attributes.get("src") ?? "", attributes.get("alt") ?? "");
    for (const name of ["width", "height"]) {
      const value = attributes.get(name) ?? "";
      if (/^\d{1,4}$/.test(value)) image.setAttribute(name, value);
    }
    return image;
  }

  /** @param {string} tag */
  #closeHtml(tag) {
    for (let at = this.#open.length - 1; at > 0 && this.#open[at].isHtml; at--) {
      const { tagName } = this.#open[at].element;
      if (tagName.toLowerCase() !== tag && !(tagName === "DIV" && (tag === "picture" || tag === "center"))) continue;
      this.#open.length = at;
      return;
    }
  }
}

/**
 * @param {string} text the inside of a tag
 * @returns {Map<string, string>}
 */
function readAttributes(text) {
  const found = text.matchAll(/([a-z][\w-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/gi);
  return new Map([...found].map(([, name, a, b, c]) => [name.toLowerCase(), decodeEntities(a ?? b ?? c ?? "")]));
}

/**
 * Text with its entities replaced, by a document that is never shown and runs nothing.
 * @param {string} text without tags
 */
function decodeEntities(text) {
  if (!text.includes("&")) return text;
  return new DOMParser().parseFromString(text.replaceAll("<", "&lt;"), "text/html").documentElement.textContent ?? text;
}

/**
 * @param {readonly Token[]} tokens
 * @returns {string}
 */
function collectText(tokens) {
  return tokens.map(({ content, children }) => children === null ? content : collectText(children)).join("");
}
