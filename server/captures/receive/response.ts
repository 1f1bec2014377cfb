import { delay } from "../../../common/delay.ts";
import { type Exchange, sendText } from "../../../net/listener/mod.ts";
import { type AnsweredCall, CallValues, fillPlaceholders } from "./call_values.ts";
import { isChallenge, respondToChallenge } from "./challenge.ts";
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
export const OWN_ANSWER: ViewResponse = {
  status: 200,
  headers: [],
  body: "",
  delayMs: 0,
  cors: false,
  template: false,
  challenge: null,
  challengeSecret: null,
};

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
 * Responds to a call that was kept, as its view is configured.
 * @returns a response without a body, or null when the response was sent
 */
export async function answerCall(
  exchange: Exchange,
  prepared: PreparedResponse,
  call: AnsweredCall,
): Promise<Response | null> {
  if (prepared.delayMs > 0) await delay(prepared.delayMs, exchange.signal);
  if (prepared.cors && isPreflight(exchange)) return allowAll(exchange);
  const { challenge, challengeSecret } = prepared;
  if (isChallenge(challenge)) {
    const response = respondToChallenge(challenge, new CallValues(call), challengeSecret);
    if (response !== null) {
      sendText(exchange, response.status, [["content-type", response.contentType], ...NEVER_A_PAGE], response.body);
      return null;
    }
  }
  const { status, fields, body } = prepared.template ? fillResponse(prepared, call) : prepared;
  if (status === 204 || status === 304) {
    return new Response(null, { status, headers: fields.map(([name, value]): [string, string] => [name, value]) });
  }
  sendText(exchange, status, fields, prepared.isOwn ? `{"status":"captured","id":"${call.cursor}"}\n` : body);
  return null;
}

const NEVER_A_PAGE = [["cache-control", "no-store"], ...SAFE] as const;

/** A response whose placeholders have values. In JSON the values are escaped, so that the text stays JSON. */
function fillResponse(
  prepared: PreparedResponse,
  call: AnsweredCall,
): Pick<PreparedResponse, "status" | "fields" | "body"> {
  const values = new CallValues(call);
  const isJson = prepared.fields.some(([name, value]) => name === "content-type" && /[/+]json\b/i.test(value));
  return {
    status: prepared.status,
    fields: prepared.fields.map(([name, value]) => [name, fillPlaceholders(value, values, toFieldText)]),
    body: fillPlaceholders(prepared.body, values, isJson ? (value) => JSON.stringify(value).slice(1, -1) : undefined),
  };
}

/** The part of a value that a header field may have: a line of characters up to U+00FF. */
const toFieldText = (value: string): string => value.replace(/[^\t\x20-\x7e\x80-\xff]/g, "").slice(0, MAX_FIELD);
const MAX_FIELD = 2000;

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
