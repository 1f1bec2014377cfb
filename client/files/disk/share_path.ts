import { HttpError } from "../../../common/http_error.ts";
import { isPlainName } from "../../../common/platform/mod.ts";

/** A request path as checked names below the shared root. */
export interface SharePath {
  /** Decoded names, outermost first; empty for the root. No name is `.` or `..` or contains a separator. */
  readonly segments: readonly string[];
  /** Whether the path ended in a slash and therefore refers to a folder. */
  readonly isFolder: boolean;
  readonly query: URLSearchParams;
  /** The raw query with its question mark, for redirects; "" without a query. */
  readonly search: string;
}

/** Rules for the names in a path. */
export interface SharePathOptions {
  /**
   * The platform whose reserved names are refused, such as drives, streams and devices on Windows. Default this
   * system's.
   */
  platform?: string;
  /** Stores a dot file at the end of the path under an internal name. Default false. */
  masksDots?: boolean;
}

/** Prefix for the share's internal names, which are never listed. */
export const OWN_PREFIX = ".portway";
/** Prefix of a masked dot file on disk. */
const MASK = `${OWN_PREFIX}-dot`;

/** Returns the segments with a last dot name masked, so that the file on disk has an internal name. */
export function maskDotName(segments: readonly string[]): readonly string[] {
  const name = segments.at(-1) ?? "";
  const isMasked = name.startsWith(".") && !name.toLowerCase().startsWith(OWN_PREFIX);
  return isMasked ? [...segments.slice(0, -1), MASK + name] : segments;
}

/** Checks whether {@link maskDotName} created the name. */
export function isMaskedName(name: string): boolean {
  return name.startsWith(`${MASK}.`);
}

/** Returns the name that visitors see for an entry. */
export function unmaskName(name: string): string {
  return isMaskedName(name) ? name.slice(MASK.length) : name;
}

/** Longest path and query in bytes. File systems accept paths up to 4 KiB, and each byte may be percent-encoded. */
const MAX_PATH = 16_384;
const MAX_DEPTH = 256;

/**
 * Parses the raw path and query. The path is decoded exactly once; a segment that does not decode to a plain name is
 * refused and never repaired.
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
 * Parses an escaped absolute path without a query, like {@link parseSharePath}.
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

/** Returns the escaped absolute path; a folder's path ends in a slash. */
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
    // Throws for malformed escapes and invalid UTF-8, including overlong forms of "." and "/".
    return decodeURIComponent(escaped);
  } catch (cause) {
    throw badPath(cause);
  }
}

function badPath(cause?: unknown): HttpError {
  return new HttpError(400, "bad_path", "This address names no file or folder.", { cause });
}
