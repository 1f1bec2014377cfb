import { HttpError } from "../../../common/http_error.ts";
import { isPlainName } from "../../../common/platform/mod.ts";

/** The path of a request as names below the shared root, every one of them checked. */
export interface SharePath {
  /** Decoded names, outermost first; empty for the root. None is `.`, `..` or holds a separator. */
  readonly segments: readonly string[];
  /** Whether the path ended in a slash, so names a folder. */
  readonly isFolder: boolean;
  readonly query: URLSearchParams;
  /** The query byte for byte with its question mark, for redirects; "" without one. */
  readonly search: string;
}

/** How strictly the names in a path are read. */
export interface SharePathOptions {
  /** Whose names are refused that are none there, as drives, streams and devices on Windows. Default this system's. */
  platform?: string;
  /** Gives a last name that begins with a dot a name of the share's own on the disk. Default false. */
  masksDots?: boolean;
}

/** Names of the share itself begin so and are never listed. */
export const OWN_PREFIX = ".portway";
/** Prefix of a masked dot file on the disk. */
const MASK = `${OWN_PREFIX}-dot`;

/** Returns the segments with a last dot name masked, so that the file on the disk has a name of the share's own. */
export function maskDotName(segments: readonly string[]): readonly string[] {
  const name = segments.at(-1) ?? "";
  const isMasked = name.startsWith(".") && !name.toLowerCase().startsWith(OWN_PREFIX);
  return isMasked ? [...segments.slice(0, -1), MASK + name] : segments;
}

/** Whether {@link maskDotName} has made a name. */
export function isMaskedName(name: string): boolean {
  return name.startsWith(`${MASK}.`);
}

/** Returns the name by which visitors know an entry. */
export function unmaskName(name: string): string {
  return isMaskedName(name) ? name.slice(MASK.length) : name;
}

/** Longest path and query in bytes; no file system of ours takes a path longer than 4 KiB, and each byte may be escaped. */
const MAX_PATH = 16_384;
const MAX_DEPTH = 256;

/**
 * Parses path and query as they were sent. The path is decoded exactly once, and what decodes to anything but a plain name
 * is refused rather than repaired.
 * @throws HttpError 400 `bad_path` for a malformed escape, an empty name, `.` or `..`, or a separator or NUL inside a
 * name in any encoding; 414 when it is too long
 */
export function parseSharePath(raw: string, options: SharePathOptions = {}): SharePath {
  if (raw.length > MAX_PATH) throw new HttpError(414, "target_too_long", "The address is too long.");
  const mark = raw.indexOf("?");
  const path = mark < 0 ? raw : raw.slice(0, mark);
  const { segments, isFolder } = parsePath(path, options);
  const search = mark < 0 ? "" : raw.slice(mark);
  return { segments, isFolder, query: new URLSearchParams(search), search };
}

/**
 * Parses an escaped absolute path without a query, as {@link parseSharePath} does.
 * @throws HttpError 400 `bad_path`
 */
export function parsePath(path: string, options: SharePathOptions = {}): Pick<SharePath, "segments" | "isFolder"> {
  // deno-lint-ignore no-control-regex
  if (path[0] !== "/" || /[\x00-\x20\x7f#\\]/.test(path)) throw badPath();
  if (path === "/") return { segments: [], isFolder: true };
  const names = path.slice(1).split("/");
  const isFolder = names.at(-1) === "";
  if (isFolder) names.pop();
  if (names.length > MAX_DEPTH) throw badPath();
  const segments = names.map((name) => decodeName(name, options.platform));
  return { segments: options.masksDots ? maskDotName(segments) : segments, isFolder };
}

/** The escaped absolute path of a file, or with a slash at the end of a folder. */
export function serializePath(segments: readonly string[], isFolder: boolean): string {
  const path = segments.map((name) => "/" + encodeURIComponent(unmaskName(name))).join("");
  return isFolder ? path + "/" : path;
}

function decodeName(escaped: string, platform: string | undefined): string {
  const name = escaped.includes("%") ? decodeStrictly(escaped) : escaped;
  if (!isPlainName(name, platform)) throw badPath();
  return name;
}

function decodeStrictly(escaped: string): string {
  try {
    // Throws for malformed escapes and for bytes that are not UTF-8, over-long forms of "." and "/" among them.
    return decodeURIComponent(escaped);
  } catch (cause) {
    throw badPath(cause);
  }
}

function badPath(cause?: unknown): HttpError {
  return new HttpError(400, "bad_path", "This address names no file or folder.", { cause });
}
