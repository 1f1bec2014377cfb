import { delay } from "../../../common/delay.ts";
import { type Exchange, sendText } from "../../../net/listener/mod.ts";
import { CallValues, type CapturedCall, fillPlaceholders } from "./call_values.ts";
import { isChallenge, respondToChallenge } from "./challenge.ts";
import { isResponseField } from "../response_fields.ts";
import type { ViewResponse } from "../../store/mod.ts";

/** A view's response, prepared once. */
export interface PreparedResponse extends ViewResponse {
  /** All fields, with names in lower case. */
  readonly fields: readonly (readonly [string, string])[];
  /** Whether the response is not configured, so the server sends its own short JSON. */
  readonly isOwn: boolean;
}

/**
 * Fields that keep a configured response from acting as a page on this origin: no script runs, and the response has an
 * opaque origin.
 */
const SAFE: readonly (readonly [string, string])[] = [
  ["content-security-policy", "sandbox"],
  ["x-content-type-options", "nosniff"],
];

/** The response of a view without a configuration. */
export const DEFAULT_RESPONSE: ViewResponse = {
  status: 200,
  headers: [],
  body: "",
  delayMs: 0,
  cors: false,
  template: false,
  challenge: null,
  challengeSecret: null,
};

/** Combines the configured fields with those that isolate the response. */
export function prepareResponse(response: ViewResponse): PreparedResponse {
  const isOwn = response.body === "" && response.headers.length === 0 && response.status === 200;
  // A view that an older version stored may have other fields.
  const own = response.headers.filter(([name]) => isResponseField(name))
    .map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const has = (wanted: string) => own.some(([name]) => name === wanted);
  const type = isOwn ? "application/json" : "text/plain; charset=utf-8";
  const fields = [
    ...own,
    ...(has("content-type") || (!isOwn && response.body === "") ? [] : [["content-type", type] as const]),
    ...(has("cache-control") ? [] : [["cache-control", "no-store"] as const]),
    ...SAFE,
    ...(response.cors ? READABLE : []),
  ];
  return { ...response, fields, isOwn };
}

const READABLE: readonly (readonly [string, string])[] = [
  ["access-control-allow-origin", "*"],
  ["access-control-expose-headers", "*"],
];

/**
 * Responds to a stored call as its view is configured.
 * @returns a response without a body, or null when the response was sent
 */
export async function respondToCall(
  exchange: Exchange,
  prepared: PreparedResponse,
  call: CapturedCall,
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

/** Fills placeholders. Values in JSON are escaped, so the text stays valid. */
function fillResponse(
  prepared: PreparedResponse,
  call: CapturedCall,
): Pick<PreparedResponse, "status" | "fields" | "body"> {
  const values = new CallValues(call);
  const isJson = prepared.fields.some(([name, value]) => name === "content-type" && /[/+]json\b/i.test(value));
  return {
    status: prepared.status,
    fields: prepared.fields.map(([name, value]) => [name, fillPlaceholders(value, values, toFieldText)]),
    body: fillPlaceholders(prepared.body, values, isJson ? (value) => JSON.stringify(value).slice(1, -1) : undefined),
  };
}

/** Reduces a value to characters that a header field may have: one line, up to U+00FF. */
const toFieldText = (value: string): string => value.replace(/[^\t\x20-\x7e\x80-\xff]/g, "").slice(0, MAX_FIELD);
const MAX_FIELD = 2000;

function isPreflight(exchange: Exchange): boolean {
  return exchange.method === "OPTIONS" && exchange.header("access-control-request-method") !== null;
}

/** Responds to a CORS preflight (Fetch standard). */
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
