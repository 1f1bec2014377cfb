import { lookup } from "mrmime";

/** Where the usual tables say something that a person who opens such a file does not mean. */
const OVERRIDES: Readonly<Record<string, string>> = {
  ts: "text/typescript",
  tsx: "text/typescript",
  mts: "text/typescript",
  cts: "text/typescript",
  jsx: "text/javascript",
  js: "text/javascript",
  mjs: "text/javascript",
  cjs: "text/javascript",
  md: "text/markdown",
  markdown: "text/markdown",
  m4a: "audio/mp4",
  opus: "audio/ogg",
  mkv: "video/x-matroska",
  flac: "audio/flac",
  m3u8: "application/vnd.apple.mpegurl",
  // A language's source, and not what is registered for a service of that name.
  rs: "text/x-rust",
  srt: "application/x-subrip",
  jsonl: "application/jsonl",
  ndjson: "application/x-ndjson",
  ipynb: "application/x-ipynb+json",
  vcf: "text/vcard",
  tar: "application/x-tar",
  "7z": "application/x-7z-compressed",
  rar: "application/vnd.rar",
  bz2: "application/x-bzip2",
  xz: "application/x-xz",
  zst: "application/zstd",
  apk: "application/vnd.android.package-archive",
  dmg: "application/x-apple-diskimage",
  deb: "application/vnd.debian.binary-package",
  rpm: "application/x-rpm",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  odt: "application/vnd.oasis.opendocument.text",
  ods: "application/vnd.oasis.opendocument.spreadsheet",
  odp: "application/vnd.oasis.opendocument.presentation",
};

/** Endings of files that are text though no media type is registered for them. */
const TEXT_ENDINGS = new Set(
  ("ada asm awk bash bat c cc clj cfg cmake conf cpp cs csv dart diff dockerfile editorconfig el elm env erl ex exs f90 " +
    "fish fs gitignore go gradle graphql groovy h hpp hs ini java jl kt kts less lisp lock log lua makefile ml mod nim " +
    "nix patch php pl po properties proto ps1 py r rb rst sass scala scss sh sql styl sum svelte swift tcl tex tf tsv " +
    "v vb vhd vim vue yaml yml zig zsh").split(" "),
);
const TEXT_NAMES = /^(?:readme|license|licence|copying|authors|changelog|makefile|dockerfile|notice|todo)$/i;

/** The media type of a file by its name, without a charset. */
export function getMediaType(name: string): string {
  const dot = name.lastIndexOf(".");
  const ending = name.slice(dot + 1).toLowerCase();
  if (dot < 0) return TEXT_NAMES.test(name) ? "text/plain" : "application/octet-stream";
  return OVERRIDES[ending] ?? lookup(ending) ?? (TEXT_ENDINGS.has(ending) ? "text/plain" : "application/octet-stream");
}

/** Whether files of that type are text, so that a charset belongs to it. */
export function isTextType(type: string): boolean {
  return type.startsWith("text/") ||
    /^application\/(?:json|jsonl|x-ndjson|x-subrip|xml|javascript|toml|sql|.+\+(?:json|xml))$/.test(type) ||
    type === "image/svg+xml";
}

/** How many bytes of a file {@link detectCharset} wants to see. */
export const CHARSET_SAMPLE = 4096;

/** The charset of text by how it begins: UTF-8 or UTF-16 by its mark, UTF-8 when it can be, else windows-1252. */
export function detectCharset(sample: Uint8Array): string {
  if (sample[0] === 0xff && sample[1] === 0xfe) return "utf-16le";
  if (sample[0] === 0xfe && sample[1] === 0xff) return "utf-16be";
  try {
    // stream: the sample may end inside a character.
    new TextDecoder("utf-8", { fatal: true }).decode(sample, { stream: true });
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}
