import type { Exchange } from "../../net/listener/mod.ts";
import type { RequestRecord } from "./request_log.ts";

/** A response before it becomes a `Response`. Adding headers to a `Response` costs more than creating it. */
export interface ProxyResponse {
  status: number;
  headers: readonly [string, string][];
  /** Text with our own header values, or a stream with an upstream's. */
  body: string | ReadableStream<Uint8Array> | null;
}

/**
 * Headers for every response with foreign content: no script runs on our origin, and browsers guess no type. The list
 * is short, because each header costs up to a tenth of an empty response.
 */
export const SAFE_HEADERS: readonly [string, string][] = [
  ["content-security-policy", "sandbox; default-src 'none'"],
  ["x-content-type-options", "nosniff"],
];

const JSON_HEADERS: readonly [string, string][] = [
  ["content-type", "application/json; charset=utf-8"],
  ...SAFE_HEADERS,
];

/** Creates a response with status 200 and JSON. */
export function respondJson(value: unknown, extra: readonly [string, string][] = []): ProxyResponse {
  const headers = extra.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...extra];
  return { status: 200, headers, body: JSON.stringify(value) };
}

/** Handles one path and completes the log record. Throws `HttpError`. */
export type Route = (exchange: Exchange, record: RequestRecord) => Promise<ProxyResponse>;
