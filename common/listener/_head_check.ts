import { HttpError } from "../http_error.ts";

/** Header values of one request by name, each as often as it was sent. */
export type HeaderValues = (name: string) => readonly string[];

const HOST = /^(\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d{1,5})?$/;
const LENGTH = /^\d{1,15}$/;

/**
 * Why a head of HTTP/1.1 must be refused, or null. Two readers that see different ends of one message are how
 * requests are smuggled (RFC 9112, sections 3.2, 6.1 and 6.3), so whatever could be read twice is refused.
 */
export function findHeadFault(values: HeaderValues, httpVersion: string): HttpError | null {
  // node:http reads a request line without a version as HTTP/0.9, and takes fields behind it.
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return badRequest("HTTP/1.1 is wanted.");
  const hosts = values("host");
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion !== "1.0")) {
    return badRequest("One Host header is wanted.");
  }
  if (hosts.length === 1 && !HOST.test(hosts[0])) return badRequest("The Host header is malformed.");
  const lengths = values("content-length");
  const codings = values("transfer-encoding");
  if (lengths.length > 1) return badRequest("One Content-Length is wanted.");
  if (lengths.length === 1 && !LENGTH.test(lengths[0])) return badRequest("Content-Length is malformed.");
  if (codings.length === 0) return null;
  if (lengths.length > 0) return badRequest("Content-Length and Transfer-Encoding exclude each other.");
  if (codings.length > 1 || codings[0].toLowerCase() !== "chunked") {
    return badRequest("Only the transfer coding chunked is known.");
  }
  return httpVersion === "1.0" ? badRequest("HTTP/1.0 has no transfer codings.") : null;
}

/** Path and query of a request target, or null for one that is no path or names another host than `host`. */
export function parseTarget(target: string, host: string): string | null {
  if (target.startsWith("/")) return target;
  const [, authority, rest] = /^https?:\/\/([^/?#]*)([/?].*)?$/i.exec(target) ?? [];
  if (authority === undefined || authority.toLowerCase() !== host.toLowerCase()) return null;
  return rest === undefined ? "/" : rest.startsWith("?") ? `/${rest}` : rest;
}

/** Whether a request is a WebSocket handshake that can be accepted (RFC 6455, section 4.2.1). */
export function isWebSocketHandshake(method: string, header: (name: string) => string | null): boolean {
  return method === "GET" && header("upgrade")?.toLowerCase() === "websocket" &&
    /(^|,)\s*upgrade\s*(,|$)/i.test(header("connection") ?? "") &&
    header("sec-websocket-version") === "13" && /^[A-Za-z0-9+/]{22}==$/.test(header("sec-websocket-key") ?? "");
}

/** 400, and the connection ends: what follows on it cannot be trusted to be a request. */
export function badRequest(message: string): HttpError {
  return new HttpError(400, "bad_request", message, { headers: { connection: "close" } });
}
