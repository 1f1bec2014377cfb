import { PROJECT, RELEASE } from "../../common/release.ts";
import { hasHeader } from "./description.ts";

export type HeaderList = [string, string][];

/** Headers about one connection (RFC 9110, section 7.6.1) or about framing, which is ours to do. */
const NOT_CARRIED = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "expect",
]);

/** What the answer's decoder knows, in the order we like it best. */
const ACCEPT_ENCODING = "gzip, br, zstd, deflate";

export interface OutgoingHeaderOptions {
  /** What this server calls itself in Via (RFC 9110, section 7.6.3). */
  viaToken: string;
  /** Used when the description names none; the caller's own for a body that is passed on as it is. */
  acceptEncoding?: string;
}

/** The headers sent to a target: the described ones without what is not carried, and what they leave open. */
export function buildOutgoingHeaders(described: HeaderList, options: OutgoingHeaderOptions): HeaderList {
  const headers: HeaderList = [];
  let via = `1.1 ${options.viaToken}`;
  for (const [name, value] of described) {
    const key = name.toLowerCase();
    if (key === "via") via = `${value}, ${via}`;
    else if (!NOT_CARRIED.has(key)) headers.push([name, value]);
  }
  if (!hasHeader(headers, "user-agent")) headers.push(["User-Agent", `${PROJECT}/${RELEASE}`]);
  if (!hasHeader(headers, "accept")) headers.push(["Accept", "*/*"]);
  if (!hasHeader(headers, "accept-encoding")) {
    headers.push(["Accept-Encoding", options.acceptEncoding ?? ACCEPT_ENCODING]);
  }
  headers.push(["Via", via]);
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
