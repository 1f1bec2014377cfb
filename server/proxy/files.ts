import { answerFile, type FileSource } from "../../common/file_http/mod.ts";
import { HttpError, methodNotAllowed } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { EXPOSE_HEADERS, type ProxyAnswer, SAFE_HEADERS } from "./answer.ts";
import type { ProxyGate } from "./gate.ts";
import { type OpenedFile, openInside } from "./open_inside.ts";
import type { Route } from "./route.ts";

/** Which folder the proxy serves, and what stands before it. */
export interface FilesOptions {
  /** Folder to serve, or null for none. */
  root: string | null;
  gate: ProxyGate;
}

const PREFIX = "/proxy/files/";
const HEADERS = Object.fromEntries([...SAFE_HEADERS, EXPOSE_HEADERS, ["cache-control", "no-cache, no-transform"]]);

/** `GET /proxy/files/<path>`: a local folder, read-only, with Range and conditional requests (RFC 9110). */
export function createFiles({ root, gate }: FilesOptions): Route {
  return async (exchange) => {
    if (root === null) throw notFound("Local files are not served here.");
    if (exchange.method !== "GET" && exchange.method !== "HEAD") throw methodNotAllowed("GET, HEAD, OPTIONS");
    gate.checkToken(exchange, null);
    const path = decodePath(exchange.path.split("?", 1)[0].slice(PREFIX.length));
    const file = path === null ? null : await openInside(root, path);
    if (file === null || path === null) throw notFound("There is no such file.");
    return send(exchange, file, path);
  };
}

function decodePath(path: string): string | null {
  // A slash that came in disguise would move the limits of names after they were checked.
  if (/%(2f|5c|00)/i.test(path)) return null;
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

function send(exchange: Exchange, file: OpenedFile, path: string): ProxyAnswer {
  const request = { method: exchange.method, headers: { get: (name: string) => exchange.header(name) } };
  const name = path.slice(path.lastIndexOf("/") + 1);
  try {
    const { status, headers, body } = answerFile(request, toSource(file), { name, headers: HEADERS });
    return { status, headers: [...headers], body };
  } catch (error) {
    // A page must be able to read why, as it reads every other answer here.
    if (!(error instanceof HttpError)) throw error;
    return { status: error.status, headers: Object.entries({ ...HEADERS, ...error.headers }), body: null };
  }
}

function toSource({ handle, stats }: OpenedFile): FileSource {
  let isOpen = true;
  return {
    fd: handle.fd,
    stat: stats,
    close() {
      // Nothing was written, so nothing can be lost by a close that fails.
      if (isOpen) handle.close().catch(() => {});
      isOpen = false;
    },
  };
}

function notFound(message: string): HttpError {
  return new HttpError(404, "not_found", message);
}
