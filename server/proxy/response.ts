import type { Exchange } from "../../net/listener/mod.ts";
import type { RequestRecord } from "./request_log.ts";

/**
 * An answer of ours before it is a `Response`: headers that are added to one of those later cost more than the
 * answer itself.
 */
export interface ProxyResponse {
  status: number;
  headers: readonly [string, string][];
  /** Text with header values of our own making; a stream with those of an upstream. */
  body: string | ReadableStream<Uint8Array> | null;
}

/**
 * On every answer that carries what a stranger wrote: no script runs on our origin, and no type is guessed.
 * As few as will do, as each header costs as much as a tenth of an empty answer.
 */
export const SAFE_HEADERS: readonly [string, string][] = [
  ["content-security-policy", "sandbox; default-src 'none'"],
  ["x-content-type-options", "nosniff"],
];

const JSON_HEADERS: readonly [string, string][] = [
  ["content-type", "application/json; charset=utf-8"],
  ...SAFE_HEADERS,
];

/** Status 200 and a value as JSON. */
export function answerJson(value: unknown, extra: readonly [string, string][] = []): ProxyResponse {
  const headers = extra.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...extra];
  return { status: 200, headers, body: JSON.stringify(value) };
}

/** Answers one path of the proxy, and tells the record what the log is to know. Throws `HttpError`. */
export type Route = (exchange: Exchange, record: RequestRecord) => Promise<ProxyResponse>;
