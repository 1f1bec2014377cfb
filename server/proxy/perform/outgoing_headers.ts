import { CONNECTION_FIELDS } from "../../../net/http1/mod.ts";
import { HAS_ZSTD } from "../../../net/body/zstd.ts";
import { PROJECT, RELEASE } from "../../../common/release.ts";
import { hasHeader, type HeaderList } from "../describe/description.ts";

/** Headers about one connection (RFC 9110, section 7.6.1) or about framing, which the proxy writes itself. */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  ...CONNECTION_FIELDS,
  "proxy-authorization",
  "content-length",
  "expect",
]);

/** The encodings that the proxy decodes, best first. */
const ACCEPT_ENCODING = HAS_ZSTD ? "gzip, br, zstd, deflate" : "gzip, br, deflate";

/**
 * Builds the headers for an upstream: the described ones without connection headers, completed with defaults. Via is
 * added per hop.
 * @param acceptEncoding the default for Accept-Encoding; the caller's own for a body that is passed on
 */
export function buildOutgoingHeaders(described: HeaderList, acceptEncoding = ACCEPT_ENCODING): HeaderList {
  const headers = described.filter(([name]) => {
    const key = name.toLowerCase();
    return key !== "via" && !CONNECTION_HEADERS.has(key);
  });
  if (!hasHeader(headers, "user-agent")) headers.push(["User-Agent", `${PROJECT}/${RELEASE}`]);
  if (!hasHeader(headers, "accept")) headers.push(["Accept", "*/*"]);
  if (!hasHeader(headers, "accept-encoding")) headers.push(["Accept-Encoding", acceptEncoding]);
  return headers;
}

/** Headers that must not follow a redirect to another origin. */
const CREDENTIALS = new Set(["authorization", "cookie", "cookie2", "host"]);
/** Headers that describe a body. They disappear when a redirect drops the body. */
const BODY_HEADERS = /^content-/;

/** Returns the headers for a redirect's next hop. */
export function headersAfterRedirect(
  headers: HeaderList,
  hop: { crossOrigin: boolean; dropsBody: boolean },
): HeaderList {
  return headers.filter(([name]) => {
    const key = name.toLowerCase();
    return !(hop.crossOrigin && CREDENTIALS.has(key)) && !(hop.dropsBody && BODY_HEADERS.test(key));
  });
}
