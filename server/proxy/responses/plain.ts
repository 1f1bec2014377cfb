import { HttpError } from "../../../common/http_error.ts";
import type { Exchange } from "../../../net/listener/mod.ts";
import { EXPOSE_HEADERS } from "../../http/mod.ts";
import { type ProxyResponse, SAFE_HEADERS } from "../response.ts";
import { hasHeader, type HeaderList } from "../describe/description.ts";
import type { FollowedResponse } from "../perform/follow.ts";
import { CONNECTION_HEADERS } from "../perform/outgoing_headers.ts";
import { type ResponseStreamOptions, toStream } from "./stream.ts";

/**
 * Fields of an upstream that would speak for this server: what pages may do with the answer, what browsers keep about
 * the origin it came from, and where they go next.
 */
const NOT_PASSED_ON =
  /^(access-control-.*|cross-origin-.*|content-security-policy.*|x-content-type-options|x-frame-options|set-cookie2?|clear-site-data|strict-transport-security|public-key-pins.*|alt-svc|refresh|report-to|reporting-endpoints|nel|service-worker-allowed|origin-agent-cluster|permissions-policy|accept-ch|critical-ch|timing-allow-origin|via|date|server|portway-.*|x-request-url|x-final-url)$/;

const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * The upstream's own answer: status, headers and body, less what would speak for this server, and with what lets a page
 * read all of it.
 * @throws HttpError 502 `upstream_not_http` for a status that HTTP has no meaning for
 */
export function plainResponse(
  followed: FollowedResponse,
  options: ResponseStreamOptions,
  exchange: Pick<Exchange, "method">,
): ProxyResponse {
  const { answer, finalUrl } = followed;
  if (answer.status > 599) {
    answer.body.cancel();
    throw new HttpError(502, "upstream_not_http", `The upstream's status ${answer.status} cannot be passed on.`);
  }
  const isHead = exchange.method === "HEAD";
  const mayHaveLength = (isHead || answer.hasBody) && !NULL_BODY.has(answer.status);
  const passed = answer.headers.filter(([name]) => mayPassOn(name.toLowerCase(), mayHaveLength));
  const headers: HeaderList = [
    ...SAFE_HEADERS,
    ["cross-origin-resource-policy", "cross-origin"],
    ...passed.filter(([name]) => name.toLowerCase() !== "cache-control"),
    // A listener that compressed it would change what its tag and length stand for, and hold back what trickles.
    ["cache-control", [...readAll(passed, "cache-control"), "no-transform"].join(", ")],
    ["x-request-url", followed.redirects[0]?.url ?? finalUrl],
    ["x-final-url", finalUrl],
    ...followed.redirects.map(({ status, location }, index): [string, string] => [
      `x-cors-redirect-${index + 1}`,
      `${status} ${location}`,
    ]),
  ];
  headers.push(exposing(headers));
  const isNull = NULL_BODY.has(answer.status) || (isHead && hasHeader(headers, "content-length"));
  const { status } = answer;
  if (!isNull) return { status, headers, body: toStream(answer.body, options) };
  answer.body.cancel();
  options.onEnd();
  return { status, headers, body: null };
}

/**
 * Whether a field of an upstream may be passed on, by its name in lower case.
 * @param mayHaveLength the length of a body that is not sent would be waited for, except by who asked with HEAD
 */
export function mayPassOn(name: string, mayHaveLength: boolean): boolean {
  if (name === "content-length") return mayHaveLength;
  return !CONNECTION_HEADERS.has(name) && !NOT_PASSED_ON.test(name);
}

function readAll(headers: HeaderList, wanted: string): string[] {
  return headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);
}

/** All that is there may be read by a page; the names that ours have besides come with errors. */
function exposing(headers: HeaderList): [string, string] {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  return [EXPOSE_HEADERS[0], [...names, "portway-error"].join(", ")];
}
