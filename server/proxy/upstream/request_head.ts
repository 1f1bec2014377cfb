import { Buffer } from "node:buffer";
import { HttpError } from "../../../common/http_error.ts";
import type { UpstreamRequest } from "./types.ts";

/** How a request's body is framed: there is none, `length` bytes, or chunks. */
export type RequestFraming = { readonly length: number } | "chunked" | "none";

/** The framing for a request's body. */
export function chooseFraming({ body, headers }: UpstreamRequest): RequestFraming {
  if (body === null) return "none";
  if (body instanceof Uint8Array) return { length: body.byteLength };
  const announced = headers.find(([name]) => name.toLowerCase() === "content-length")?.[1];
  return announced === undefined ? "chunked" : { length: Number(announced) };
}

/**
 * The head as bytes, in Latin-1, with Host and framing added where they are not given.
 * @throws HttpError 400 `description_invalid` for what would not be one line each. Descriptions were checked before;
 * this is the last place where a line break could become a header, or a request, of its own.
 */
export function serializeHead(request: UpstreamRequest, framing: RequestFraming): Buffer {
  const { method, url, headers } = request;
  let host = `Host: ${url.host}\r\n`;
  let fields = "";
  for (const [name, value] of headers) {
    if (!TOKEN.test(name) || !FIELD_VALUE.test(value)) throw unfit();
    const key = name.length === 4 || name.length === 14 ? name.toLowerCase() : "";
    if (key === "host") host = "";
    if (key !== "content-length") fields += `${name}: ${value}\r\n`;
  }
  const target = `${url.pathname}${url.search}`;
  if (!TOKEN.test(method) || !TARGET.test(target)) throw unfit();
  return Buffer.from(
    `${method} ${target} HTTP/1.1\r\n${host}${fields}${framingField(framing, method)}\r\n`,
    "latin1",
  );
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** What is beyond Latin-1 would be cut down to another byte, which may be a line break. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const TARGET = /^\/[\x21-\x7e]*$/;

function framingField(framing: RequestFraming, method: string): string {
  if (framing === "chunked") return "Transfer-Encoding: chunked\r\n";
  if (framing !== "none") return `Content-Length: ${framing.length}\r\n`;
  return METHODS_WITH_BODY.test(method) ? "Content-Length: 0\r\n" : "";
}

/** Those that say their length even when they have none (RFC 9110, section 8.6). */
const METHODS_WITH_BODY = /^(POST|PUT|PATCH)$/;

function unfit(): HttpError {
  return new HttpError(400, "description_invalid", "The described request cannot be put into HTTP.");
}
