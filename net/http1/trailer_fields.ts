import { CONNECTION_FIELDS, decodeLatin1, scanFieldLines } from "./field_lines.ts";

/**
 * Field names that a trailer section must not contain (RFC 9110, section 6.5.1). Some recipients merge trailers into the
 * header section, so such a field would change a request after all checks have passed.
 */
const FORBIDDEN: ReadonlySet<string> = new Set([
  ...CONNECTION_FIELDS,
  // Framing, routing and controls.
  ...["content-length", "http2-settings", "host", "via", "expect", "max-forwards", "cache-control", "pragma", "range"],
  // Conditions.
  ...["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"],
  // Authentication and state.
  ...["authorization", "proxy-authorization", "authentication-info", "proxy-authentication-info", "www-authenticate"],
  ...["proxy-authenticate", "cookie", "set-cookie"],
  // Response control data.
  ...["age", "date", "expires", "location", "retry-after", "vary", "warning"],
  // Content format.
  ...["content-encoding", "content-type", "content-range", "content-disposition", "content-location"],
  // Client properties that only a trusted proxy may set.
  ...["forwarded", "x-real-ip", "x-client-ip", "x-original-url", "x-rewrite-url", "cf-connecting-ip", "true-client-ip"],
]);
/** Prefixes for the fields that proxies add, and for Portway's own fields. */
const FORBIDDEN_PREFIXES: readonly string[] = ["x-forwarded-", "portway-"];
const NOTHING = new Uint8Array(0);

/** Returns whether a trailer section must not contain the field. CGI treats "_" as "-", so both spellings count. */
function isForbiddenTrailer(name: string): boolean {
  const spelled = name.toLowerCase().replaceAll("_", "-");
  return FORBIDDEN.has(spelled) || FORBIDDEN_PREFIXES.some((prefix) => spelled.startsWith(prefix));
}

/**
 * Removes forbidden fields from a trailer section.
 * @param lines field lines that were checked, each with its CRLF
 * @returns `lines` itself if every field is allowed
 */
export function dropForbiddenTrailers<Memory extends ArrayBufferLike>(
  lines: Uint8Array<Memory>,
): Uint8Array<Memory | ArrayBuffer> {
  if (lines.length === 0) return lines;
  const kept: number[] = [];
  let isComplete = true;
  scanFieldLines(lines, 0, lines.length, (nameStart, nameEnd, _valueStart, valueEnd) => {
    if (isForbiddenTrailer(decodeLatin1(lines, nameStart, nameEnd))) isComplete = false;
    else kept.push(nameStart, valueEnd + 2);
  });
  if (isComplete) return lines;
  return kept.length === 0 ? NOTHING : joinLines(lines, kept);
}

function joinLines(lines: Uint8Array, ranges: readonly number[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(lines.length);
  let used = 0;
  for (let at = 0; at < ranges.length; at += 2) {
    out.set(lines.subarray(ranges[at], ranges[at + 1]), used);
    used += ranges[at + 1] - ranges[at];
  }
  return out.subarray(0, used);
}
