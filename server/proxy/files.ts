import type { FileHandle } from "node:fs/promises";
import { HttpError } from "../../common/http_error.ts";
import type { Exchange } from "../../common/listener/mod.ts";
import { type Answer, EXPOSE_HEADERS, SAFE_HEADERS } from "./answer.ts";
import type { Gate } from "./gate.ts";
import { mediaType } from "./media_type.ts";
import { type OpenFile, openInside } from "./open_inside.ts";
import { methodNotAllowed, type Route } from "./route.ts";

export interface FilesOptions {
  /** Folder to serve, or null for none. */
  root: string | null;
  gate: Gate;
}

const PREFIX = "/proxy/files/";
const READ_BYTES = 256 * 1024;

/** `GET /proxy/files/<path>`: a local folder, read-only, with Range and conditional requests (RFC 9110). */
export function createFiles({ root, gate }: FilesOptions): Route {
  return async (exchange) => {
    if (root === null) throw notFound("Local files are not served here.");
    if (exchange.method !== "GET" && exchange.method !== "HEAD") throw methodNotAllowed("GET, HEAD, OPTIONS");
    gate.checkToken(exchange, null);
    const path = decodePath(exchange.target.split("?", 1)[0].slice(PREFIX.length));
    const file = path === null ? null : await openInside(root, path);
    if (file === null || path === null) throw notFound("There is no such file.");
    return await answerFile(exchange, file, mediaType(path));
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

async function answerFile(exchange: Exchange, file: OpenFile, type: string): Promise<Answer> {
  const { handle, stats } = file;
  const etag = `"${stats.size.toString(16)}-${Math.round(stats.mtimeMs * 1000).toString(16)}"`;
  const headers: [string, string][] = [
    ...SAFE_HEADERS,
    EXPOSE_HEADERS,
    ["content-type", type],
    ["accept-ranges", "bytes"],
    ["cache-control", "no-cache, no-transform"],
    ["etag", etag],
    ["last-modified", stats.mtime.toUTCString()],
  ];
  if (isUnchanged(exchange, etag, stats.mtime)) return await closeAnd(handle, { status: 304, headers, body: null });
  const range = readRange(exchange, stats.size, etag, stats.mtime);
  if (range === "unsatisfiable") {
    headers.push(["content-range", `bytes */${stats.size}`]);
    return await closeAnd(handle, { status: 416, headers, body: null });
  }
  const { start, end } = range ?? { start: 0, end: stats.size };
  headers.push(["content-length", String(end - start)]);
  if (range) headers.push(["content-range", `bytes ${start}-${end - 1}/${stats.size}`]);
  const status = range ? 206 : 200;
  if (exchange.method === "HEAD" || end === start) return await closeAnd(handle, { status, headers, body: null });
  return { status, headers, body: streamFile(handle, start, end) };
}

async function closeAnd(handle: FileHandle, answer: Answer): Promise<Answer> {
  await handle.close();
  return answer;
}

/** If-None-Match counts before If-Modified-Since (RFC 9110, section 13.2.2). */
function isUnchanged(exchange: Exchange, etag: string, modified: Date): boolean {
  const tags = exchange.header("if-none-match");
  if (tags !== null) {
    return tags.trim() === "*" || tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
  }
  const since = Date.parse(exchange.header("if-modified-since") ?? "");
  return Math.floor(modified.getTime() / 1000) * 1000 <= since;
}

/** One range, end excluded. Null for the whole file: none asked for, several, or If-Range says it has changed. */
function readRange(exchange: Exchange, size: number, etag: string, modified: Date) {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(exchange.header("range") ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return null;
  const condition = exchange.header("if-range");
  if (condition !== null && condition !== etag && condition !== modified.toUTCString()) return null;
  const [, first, last] = match;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  if (first !== "" && last !== "" && Number(last) < Number(first)) return null;
  return start >= size || start >= end ? "unsatisfiable" as const : { start, end };
}

function streamFile(handle: FileHandle, start: number, end: number): ReadableStream<Uint8Array> {
  let at = start;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const chunk = new Uint8Array(Math.min(READ_BYTES, end - at));
        const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength, at);
        if (bytesRead === 0) throw new Error("the file became shorter while it was read");
        at += bytesRead;
        controller.enqueue(chunk.subarray(0, bytesRead));
        if (at < end) return;
        await handle.close();
        controller.close();
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
    cancel: () => handle.close(),
  }, { highWaterMark: 0 });
}

function notFound(message: string): HttpError {
  return new HttpError(404, "not_found", message);
}
