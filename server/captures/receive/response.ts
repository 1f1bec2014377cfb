import { delay } from "../../../common/delay.ts";
import { type Exchange, sendText } from "../../../net/listener/mod.ts";
import { isResponseField } from "../response_fields.ts";
import type { ViewResponse } from "../../store/mod.ts";

/** A view's answer, made ready once. */
export interface PreparedResponse extends ViewResponse {
  /** All fields, names in lower case. */
  readonly fields: readonly (readonly [string, string])[];
  /** Nothing was set: the server's own short JSON is sent. */
  readonly isOwn: boolean;
}

/**
 * What keeps the answer, which whoever owns the view writes, from being a page of this server: no script of it runs, and
 * it has no origin.
 */
const SAFE: readonly (readonly [string, string])[] = [
  ["content-security-policy", "sandbox"],
  ["x-content-type-options", "nosniff"],
];

/** The answer of a view to which nothing was set. */
export const OWN_ANSWER: ViewResponse = { status: 200, headers: [], body: "", delayMs: 0, cors: false };

/** Puts the fields of a view's answer together: its owner's first, then those that keep it from being a page. */
export function prepareResponse(answer: ViewResponse): PreparedResponse {
  const isOwn = answer.body === "" && answer.headers.length === 0 && answer.status === 200;
  // A view that an older version stored may have others.
  const own = answer.headers.filter(([name]) => isResponseField(name))
    .map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const has = (wanted: string) => own.some(([name]) => name === wanted);
  const type = isOwn ? "application/json" : "text/plain; charset=utf-8";
  const fields = [
    ...own,
    ...(has("content-type") || (!isOwn && answer.body === "") ? [] : [["content-type", type] as const]),
    ...(has("cache-control") ? [] : [["cache-control", "no-store"] as const]),
    ...SAFE,
    ...(answer.cors ? READABLE : []),
  ];
  return { ...answer, fields, isOwn };
}

const READABLE: readonly (readonly [string, string])[] = [
  ["access-control-allow-origin", "*"],
  ["access-control-expose-headers", "*"],
];

/**
 * Answers a call that was kept, as its view says.
 * @param cursor of the call
 * @returns a response for what has no body, or null when all is sent
 */
export async function answerCall(
  exchange: Exchange,
  answer: PreparedResponse,
  cursor: number,
): Promise<Response | null> {
  if (answer.delayMs > 0) await delay(answer.delayMs, exchange.signal);
  if (answer.cors && isPreflight(exchange)) return allowAll(exchange);
  const { status, fields, isOwn } = answer;
  if (status === 204 || status === 304) {
    return new Response(null, { status, headers: fields.map(([name, value]): [string, string] => [name, value]) });
  }
  sendText(exchange, status, fields, isOwn ? `{"status":"captured","id":"${cursor}"}\n` : answer.body);
  return null;
}

function isPreflight(exchange: Exchange): boolean {
  return exchange.method === "OPTIONS" && exchange.header("access-control-request-method") !== null;
}

/** What a browser asks before it sends a call that a form could not (Fetch, "CORS-preflight request"). */
function allowAll(exchange: Exchange): Response {
  const headers = new Headers({
    "access-control-allow-origin": "*",
    "access-control-allow-methods": exchange.header("access-control-request-method") ?? "*",
    "access-control-max-age": "600",
    "vary": "access-control-request-method, access-control-request-headers",
  });
  const wanted = exchange.header("access-control-request-headers");
  if (wanted !== null) headers.set("access-control-allow-headers", wanted);
  return new Response(null, { status: 204, headers });
}
