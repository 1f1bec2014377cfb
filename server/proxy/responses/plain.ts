import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { EXPOSE_HEADERS, isForeignFieldAllowed } from "../../http/mod.ts";
import { type ProxyResponse, SAFE_HEADERS } from "../response.ts";
import { hasHeader, type HeaderList } from "../describe/description.ts";
import type { FollowedResponse } from "../perform/follow.ts";
import { CONNECTION_HEADERS } from "../perform/outgoing_headers.ts";
import { escapeText, openStream, type ResponseStreamOptions } from "./stream.ts";

const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Passes an upstream's response on: status, body and the fields that are allowed, with fields that let a page read
 * all.
 * @throws HttpError 502 `upstream_not_http` for a status outside HTTP's range
 */
export async function plainResponse(
  followed: FollowedResponse,
  options: ResponseStreamOptions,
  exchange: Pick<Exchange, "method">,
): Promise<ProxyResponse> {
  const { response, finalUrl } = followed;
  if (response.status > 599) {
    response.body.cancel();
    throw new HttpError(502, "upstream_not_http", `The upstream's status ${response.status} cannot be passed on.`);
  }
  const isHead = exchange.method === "HEAD";
  const mayHaveLength = (isHead || response.hasBody) && !NULL_BODY.has(response.status);
  const passed = response.headers.filter(([name]) => mayPassOn(name.toLowerCase(), mayHaveLength));
  const withheld = response.headers.filter(([name]) => isWithheld(name.toLowerCase()));
  const headers: HeaderList = [
    ...SAFE_HEADERS,
    ["cross-origin-resource-policy", "cross-origin"],
    ...passed.filter(([name]) => name.toLowerCase() !== "cache-control"),
    // Compression by a listener would invalidate tag and length, and delay a trickling body.
    ["cache-control", [...readAll(passed, "cache-control"), "no-transform"].join(", ")],
    ["x-request-url", followed.redirects[0]?.url ?? finalUrl],
    ["x-final-url", finalUrl],
    ...followed.redirects.map(({ status, location }, index): [string, string] => [
      `x-cors-redirect-${index + 1}`,
      `${status} ${location}`,
    ]),
  ];
  if (withheld.length > 0) headers.push(["portway-headers", escapeText(JSON.stringify(withheld))]);
  headers.push(exposing(headers));
  const isNull = NULL_BODY.has(response.status) || (isHead && hasHeader(headers, "content-length"));
  const { status } = response;
  if (!isNull) return { status, headers, body: await openStream(response.body, options) };
  response.body.cancel();
  options.onEnd();
  return { status, headers, body: null };
}

/**
 * Whether an upstream's field passes unchanged, by its name in lower case.
 * @param mayHaveLength whether Content-Length passes; without a body, a client would wait for it, except after HEAD
 */
export function mayPassOn(name: string, mayHaveLength: boolean): boolean {
  if (name === "content-length") return mayHaveLength;
  return isForeignFieldAllowed(name) && !CONNECTION_HEADERS.has(name);
}

/** Whether a page gets a field in `portway-headers` only. */
function isWithheld(name: string): boolean {
  return !isForeignFieldAllowed(name) && !CONNECTION_HEADERS.has(name);
}

function readAll(headers: HeaderList, wanted: string): string[] {
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
}

/** Lets a page read all fields, and `portway-error` in an error response. */
function exposing(headers: HeaderList): [string, string] {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  return [EXPOSE_HEADERS[0], [...names, "portway-error"].join(", ")];
}
