import { HttpError } from "../../common/http_error.ts";
import { tagPlain } from "./content_encoding.ts";
import type { FieldReader, FileRequest } from "./file_source.ts";
import { hasStrongMatch, hasWeakMatch, parseEntityTags } from "./entity_tag.ts";

/** What the preconditions of a request come to: go on, 304 or 412. */
export type Verdict = "proceed" | "not_modified" | "failed";

/** What is there now. */
export interface Representation {
  tag: string;
  /** Milliseconds since the epoch. */
  modified: number;
}

/**
 * Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order of RFC 9110,
 * section 13.2.2. `current` is null when nothing is there. A malformed If-Match or, on a write, If-None-Match fails:
 * a condition that cannot be understood must not be taken for one that holds.
 */
export function evaluateConditions(method: string, headers: FieldReader, current: Representation | null): Verdict {
  const isRead = method === "GET" || method === "HEAD";
  return evaluateMatch(headers, current) ?? evaluateNoneMatch(headers, current, isRead) ?? "proceed";
}

/**
 * Checks the conditions of a request that is to change what is there, null when nothing is.
 * @throws HttpError 412
 */
export function checkConditions(request: FileRequest, current: Representation | null): void {
  const verdict = evaluateConditions(request.method, withPlainTags(request.headers), current);
  if (verdict !== "proceed") throw preconditionFailed(current?.tag ?? null);
}

/** Who has seen a coded form of a file has seen that file. */
function withPlainTags(headers: FieldReader): FieldReader {
  return { get: (name) => headers.get(name)?.replace(/"[^"]*"/g, tagPlain) ?? null };
}

/** 412: what is there is not what the request was made for. */
export function preconditionFailed(tag: string | null): HttpError {
  return new HttpError(412, "precondition_failed", "What is there now does not meet the condition of the request.", {
    headers: tag === null ? {} : { etag: tag },
  });
}

/** Whether a Range may be answered in part, by If-Range (RFC 9110, section 13.1.5): only for the same strong tag or date. */
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

/** Seconds since the epoch; null for a date that is missing or in none of the three forms of RFC 9110, section 5.6.7. */
export function parseHttpDate(field: string | null): number | null {
  if (field === null || !/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(field)) return null;
  const parsed = Date.parse(/GMT$/.test(field) ? field : `${field} GMT`);
  return Number.isNaN(parsed) ? null : toSeconds(parsed);
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
