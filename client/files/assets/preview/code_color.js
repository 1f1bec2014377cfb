// @ts-check
// Colours for code, by highlight.js. It gives us scopes and texts, of which we make the elements: no markup of its own
// gets into the page.

/** Characters of a text that is coloured; longer ones take too long. */
const MAX_LENGTH = 400_000;

/** Endings that the library does not know as names of a language. */
/** @type {Readonly<Record<string, string>>} */
const ALIASES = {
  mts: "typescript",
  cts: "typescript",
  jsonc: "json",
  geojson: "json",
  map: "json",
  vue: "xml",
  svelte: "xml",
  env: "ini",
  cfg: "ini",
  conf: "ini",
  zsh: "bash",
  fish: "bash",
  sass: "scss",
};

/** Languages that are not in the library's common set; each is a file of its own. */
/** @type {Readonly<Record<string, string>>} */
const MORE = {
  bat: "dos",
  cmake: "cmake",
  dart: "dart",
  dockerfile: "dockerfile",
  erl: "erlang",
  ex: "elixir",
  exs: "elixir",
  gradle: "groovy",
  groovy: "groovy",
  hs: "haskell",
  jl: "julia",
  ml: "ocaml",
  nix: "nix",
  properties: "properties",
  proto: "protobuf",
  ps1: "powershell",
  scala: "scala",
  tex: "latex",
};

/**
 * The part of highlight.js that is used.
 * @typedef {object} Library
 * @property {(name: string) => unknown} getLanguage
 * @property {(name: string, language: unknown) => void} registerLanguage
 * @property {(options: object) => void} configure
 * @property {(code: string, options: { language: string, ignoreIllegals: boolean }) => { _emitter: DomEmitter, errorRaised?: unknown }} highlight
 */

/** Takes what the library finds and makes elements of it. */
class DomEmitter {
  root = document.createDocumentFragment();
  /** @type {Node[]} */
  #open = [this.root];

  /** @param {string} text */
  addText(text) {
    if (text !== "") this.#open[this.#open.length - 1].appendChild(document.createTextNode(text));
  }

  /** @param {string} scope e.g. "title.function" */
  openNode(scope) {
    const span = document.createElement("span");
    // The names come from the grammars; a class is all that they become.
    span.className = `t-${scope.split(/[.:]/)[0]}`;
    this.#open[this.#open.length - 1].appendChild(span);
    this.#open.push(span);
  }

  closeNode() {
    if (this.#open.length > 1) this.#open.pop();
  }

  /** @param {string} scope */
  startScope(scope) {
    this.openNode(scope);
  }

  endScope() {
    this.closeNode();
  }

  /** @param {DomEmitter} emitter of a language inside another */
  __addSublanguage(emitter) {
    this.#open[this.#open.length - 1].appendChild(emitter.root);
  }

  finalize() {}

  toHTML() {
    return "";
  }
}

/** @type {Promise<Library> | null} */
let loading = null;

/**
 * The text as nodes, coloured when the language is known.
 * @param {string} text
 * @param {string} ending of a file's name, or a name of a language
 * @returns {Promise<DocumentFragment>}
 */
export async function colorCode(text, ending) {
  const plain = document.createDocumentFragment();
  plain.append(text);
  if (ending === "" || ending === "txt" || text.length > MAX_LENGTH) return plain;
  try {
    const library = await (loading ??= load());
    const language = await findLanguage(library, ending.toLowerCase());
    if (language === null) return plain;
    const { _emitter, errorRaised } = library.highlight(text, { language, ignoreIllegals: true });
    return errorRaised === undefined ? _emitter.root : plain;
  } catch {
    // The library cannot be had, or stumbles over this text: it can be read without colours.
    return plain;
  }
}

async function load() {
  /** @type {{ default: Library }} */
  const { default: library } = await import(resolve("lib-highlight.js"));
  library.configure({ __emitter: DomEmitter });
  return library;
}

/**
 * @param {Library} library
 * @param {string} ending
 */
async function findLanguage(library, ending) {
  const name = ALIASES[ending] ?? MORE[ending] ?? ending;
  if (library.getLanguage(name)) return name;
  if (!Object.values(MORE).includes(name)) return null;
  const { default: language } = await import(resolve(`language-${name}.js`));
  library.registerLanguage(name, language);
  return name;
}

/**
 * The address of one of our files that is loaded when it is needed.
 * @param {string} name
 */
function resolve(name) {
  return new URL(`../${name}`, import.meta.url).href;
}
