// @ts-check
// What kind of thing a file is, by the ending of its name.

/** @type {Readonly<Record<string, string>>} */
const ENDINGS = {
  image: "png jpg jpeg jfif gif webp avif svg bmp ico apng heic tif tiff",
  video: "mp4 m4v webm mov ogv mkv avi mpg mpeg",
  audio: "mp3 m4a aac ogg oga opus wav flac weba mid",
  pdf: "pdf",
  markdown: "md markdown mdown",
  table: "csv tsv",
  html: "html htm xhtml",
  archive: "zip gz tgz bz2 xz zst 7z rar tar jar deb rpm iso dmg br",
  code:
    "js mjs cjs jsx ts tsx mts cts json jsonc css scss sass less py rb rs go java kt kts c h cc cpp hpp cs swift sh " +
    "bash zsh fish ps1 bat php pl lua sql toml yaml yml xml vue svelte zig dart scala ex exs erl hs ml nix tf proto " +
    "graphql gradle cmake makefile dockerfile diff patch ini cfg conf env",
  text: "txt text log rst srt vtt tex bib nfo readme license",
};
const KINDS = new Map(
  Object.entries(ENDINGS).flatMap(([kind, list]) =>
    list.split(" ").map((ending) => /** @type {const} */ ([ending, kind]))
  ),
);
/** @type {Readonly<Record<string, string>>} */
const ICONS = { markdown: "text", table: "text", html: "code", other: "file" };

/**
 * The ending of a name in lower case without its dot; the whole name when it has none.
 * @param {string} name
 */
export function getEnding(name) {
  return name.slice(name.lastIndexOf(".") + 1).toLowerCase();
}

/**
 * image, video, audio, pdf, markdown, table, html, archive, code, text, folder or other.
 * @param {import("../parts/api.js").Entry} entry
 */
export function getKind(entry) {
  if (entry.kind === "folder") return "folder";
  return KINDS.get(getEnding(entry.name)) ?? "other";
}

/**
 * Name of the icon for a kind.
 * @param {string} kind
 */
export function getIcon(kind) {
  return ICONS[kind] ?? kind;
}
