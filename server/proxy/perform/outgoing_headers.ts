import { CONNECTION_FIELDS } from "../../../net/http1/mod.ts";
import { HAS_ZSTD } from "../../../net/body/zstd.ts";
import { PROJECT, RELEASE } from "../../../common/release.ts";
import { hasHeader, type HeaderList } from "../describe/description.ts";

/** Headers about one connection (RFC 9110, section 7.6.1) or about framing, which is ours to do. */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  ...CONNECTION_FIELDS,
  "proxy-authorization",
  "content-length",
  "expect",
]);

/** What the answer's decoder knows, in the order we like it best. */
const ACCEPT_ENCODING = HAS_ZSTD ? "gzip, br, zstd, deflate" : "gzip, br, deflate";

/**
 * The headers sent to an upstream: the described ones without those of a connection, and what they leave open. Via is
 * left out, as it names the host of each hop.
 * @param acceptEncoding used when the description names none; the caller's own for a body that is passed on as it is
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

/** What must not follow a redirect to another origin: it was meant for the first one alone. */
const CREDENTIALS = new Set(["authorization", "cookie", "cookie2", "host"]);
/** What describes a body, and goes when a redirect drops the body. */
const BODY_HEADERS = /^content-/;

/** The headers for the next hop of a redirect. */
export function headersAfterRedirect(
  headers: HeaderList,
  hop: { crossOrigin: boolean; dropsBody: boolean },
): HeaderList {
  return headers.filter(([name]) => {
    const key = name.toLowerCase();
    return !(hop.crossOrigin && CREDENTIALS.has(key)) && !(hop.dropsBody && BODY_HEADERS.test(key));
  });
}
