import { MEDIA_TYPES } from "./media_types.ts";

/** Types that differ from the database, because a person who opens such a file means another one. */
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
  // A Windows cursor has the icon format.
  cur: "image/vnd.microsoft.icon",
  tgz: "application/gzip",
  importmap: "application/importmap+json",
  hsj2: "image/hsj2",
  "3gpp": "video/3gpp",
  xslt: "application/xml",
  // Source code in Rust; the registered type belongs to a service.
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

/** Endings for text files without a registered media type. */
const TEXT_ENDINGS = new Set(
  ("ada asm awk bash bat c cc clj cfg cmake conf cpp cs csv dart diff dockerfile editorconfig el elm env erl ex exs f90 " +
    "fish fs gitignore go gradle graphql groovy h hpp hs ini java jl kt kts less lisp lock log lua makefile ml mod nim " +
    "nix patch php pl po properties proto ps1 py r rb rst sass scala scss sh sql styl sum svelte swift tcl tex tf tsv " +
    "v vb vhd vim vue yaml yml zig zsh").split(" "),
);
const TEXT_NAMES = /^(?:readme|license|licence|copying|authors|changelog|makefile|dockerfile|notice|todo)$/i;

/** The type for each ending in the database. The first lookup builds it. */
let types: Map<string, string> | null = null;

function createTypes(): Map<string, string> {
  const created = new Map<string, string>();
  for (const line of MEDIA_TYPES.trim().split("\n")) {
    const [type, ...endings] = line.split(" ");
    for (const ending of endings) created.set(ending, type);
  }
  return created;
}

/** Returns the media type for a file name, without a charset. */
export function getMediaType(name: string): string {
  const dot = name.lastIndexOf(".");
  if (dot < 0) return TEXT_NAMES.test(name) ? "text/plain" : "application/octet-stream";
  const ending = name.slice(dot + 1).toLowerCase();
  const override = OVERRIDES[ending];
  if (override !== undefined) return override;
  const type = (types ??= createTypes()).get(ending);
  // Browsers show text/plain; they download most unregistered source code types.
  if (TEXT_ENDINGS.has(ending) && (type === undefined || !isTextType(type) || type.includes("/x-"))) {
    return "text/plain";
  }
  return type ?? "application/octet-stream";
}

/** Returns whether files with that type are text, so that the type needs a charset. */
export function isTextType(type: string): boolean {
  return type.startsWith("text/") ||
    /^application\/(?:json|jsonl|x-ndjson|x-subrip|xml|javascript|toml|sql|.+\+(?:json|xml))$/.test(type) ||
    type === "image/svg+xml";
}

/** Bytes that {@link detectUnicode} needs at most. */
export const CHARSET_SAMPLE = 4096;

/** Returns the charset of Unicode text from its beginning, by its byte order mark or because it is valid UTF-8. */
export function detectUnicode(sample: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" | null {
  if (sample[0] === 0xff && sample[1] === 0xfe) return "utf-16le";
  if (sample[0] === 0xfe && sample[1] === 0xff) return "utf-16be";
  try {
    // stream: the sample may end inside a character.
    new TextDecoder("utf-8", { fatal: true }).decode(sample, { stream: true });
    return "utf-8";
  } catch {
    return null;
  }
}
