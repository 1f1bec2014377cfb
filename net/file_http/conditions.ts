import type { Stats } from "node:fs";
import { HttpError } from "../../common/http_error.ts";
import { tagPlain } from "./content_encoding.ts";
import type { FieldReader, FileRequest } from "./read_file.ts";

/** The result when preconditions are evaluated: continue, 304 or 412. */
export type Verdict = "proceed" | "not_modified" | "failed";

/** The current file, as conditions see it. */
export interface Representation {
  tag: string;
  /** Milliseconds since the epoch. */
  modified: number;
}

/**
 * Returns a file's strong entity tag (RFC 9110, section 8.8.3): its inode, its length and its modification time.
 * A replaced file has another inode, so its tag differs even within one clock tick.
 */
export function createEntityTag(stat: Pick<Stats, "ino" | "size" | "mtimeMs">): string {
  return `"${stat.ino.toString(36)}-${stat.size.toString(36)}-${Math.trunc(stat.mtimeMs * 1000).toString(36)}"`;
}

/** Returns the entity tags in an If-Match or If-None-Match field, `*` for any tag, or null for a malformed field. */
function parseEntityTags(field: string): readonly string[] | "*" | null {
  const text = field.trim();
  if (text === "*") return "*";
  const tags: string[] = [];
  let rest = text;
  while (rest !== "") {
    const found = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/.exec(rest)?.[0];
    if (found === undefined) return null;
    tags.push(found);
    const separator = /^[ \t]*(?:,[ \t]*)+/.exec(rest.slice(found.length))?.[0] ?? "";
    rest = rest.slice(found.length + separator.length);
    if (rest !== "" && separator === "") return null;
  }
  return tags.length === 0 ? null : tags;
}

/** Returns whether the tags contain `tag` in a strong comparison, where weak tags never match. */
export function hasStrongMatch(tags: readonly string[], tag: string): boolean {
  return !tag.startsWith("W/") && tags.includes(tag);
}

function hasWeakMatch(tags: readonly string[], tag: string): boolean {
  const opaque = stripWeak(tag);
  return tags.some((other) => stripWeak(other) === opaque);
}

function stripWeak(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}

/**
 * Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order of RFC 9110, section 13.2.2.
 * A malformed If-Match fails, and so does a malformed If-None-Match for a write, because they might not hold.
 * @param current null when no file exists
 */
export function evaluateConditions(method: string, headers: FieldReader, current: Representation | null): Verdict {
  const isRead = method === "GET" || method === "HEAD";
  return evaluateMatch(headers, current) ?? evaluateNoneMatch(headers, current, isRead) ?? "proceed";
}

/**
 * Checks the conditions before a file is changed.
 * @param current null when no file exists
 * @throws HttpError 412
 */
export function checkConditions(request: FileRequest, current: Representation | null): void {
  const verdict = evaluateConditions(request.method, withPlainTags(request.headers), current);
  if (verdict !== "proceed") throw preconditionFailed(current?.tag ?? null);
}

/** Replaces tags for compressed forms: a client that has seen such a form has seen the file. */
function withPlainTags(headers: FieldReader): FieldReader {
  return { get: (name) => headers.get(name)?.replace(/"[^"]*"/g, tagPlain) ?? null };
}

/** Returns the error 412: the current file is not the expected one. */
export function preconditionFailed(tag: string | null): HttpError {
  return new HttpError(412, "precondition_failed", "The current file does not meet the condition in the request.", {
    headers: tag === null ? {} : { etag: tag },
  });
}

/** Returns whether If-Range permits a partial response (RFC 9110, section 13.1.5): the strong tag or date is the same. */
export function isRangeCurrent(headers: FieldReader, current: Representation): boolean {
  const field = headers.get("if-range")?.trim();
  if (field === undefined) return true;
  if (field.includes('"')) return hasStrongMatch([field], current.tag);
  return parseHttpDate(field) === toSeconds(current.modified);
}

function evaluateMatch(headers: FieldReader, current: Representation | null): Verdict | null {
  const ifMatch = headers.get("if-match");
  if (ifMatch !== null) {
    const tags = parseEntityTags(ifMatch);
    const holds = current !== null && tags !== null && (tags === "*" || hasStrongMatch(tags, current.tag));
    return holds ? null : "failed";
  }
  const since = parseHttpDate(headers.get("if-unmodified-since"));
  return since !== null && current !== null && toSeconds(current.modified) > since ? "failed" : null;
}

function evaluateNoneMatch(headers: FieldReader, current: Representation | null, isRead: boolean): Verdict | null {
  const ifNoneMatch = headers.get("if-none-match");
  if (ifNoneMatch !== null) {
    const tags = parseEntityTags(ifNoneMatch);
    if (tags === null) return isRead ? null : "failed";
    if (current === null || !(tags === "*" || hasWeakMatch(tags, current.tag))) return null;
    return isRead ? "not_modified" : "failed";
  }
  if (!isRead || current === null) return null;
  const since = parseHttpDate(headers.get("if-modified-since"));
  return since !== null && toSeconds(current.modified) <= since ? "not_modified" : null;
}

/** Returns seconds since the epoch, or null for a missing date or another form than those in RFC 9110, section 5.6.7. */
export function parseHttpDate(field: string | null): number | null {
  if (field === null || !/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(field)) return null;
  const parsed = Date.parse(/GMT$/.test(field) ? field : `${field} GMT`);
  return Number.isNaN(parsed) ? null : toSeconds(parsed);
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
