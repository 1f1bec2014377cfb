import { Buffer } from "node:buffer";
import { STATUS_CODES } from "node:http";
import { setImmediate } from "node:timers";
import { CONNECTION_FIELDS, encodeLatin1 } from "../http1/mod.ts";
import type { Exchange } from "./types.ts";

/** Fields that only the listener sets: a response has no trailers to announce. */
const OURS: ReadonlySet<string> = new Set([...CONNECTION_FIELDS, "content-length"]);
const LENGTH = /^\d{1,15}$/;
const NOTHING = new Uint8Array(0);

/**
 * Sends a web-standard response at the visitor's speed. Resolves when it is sent or the visitor disconnected.
 * @throws the body stream's error, or RangeError for a wrong length
 */
export async function sendResponse(exchange: Exchange, response: Response): Promise<void> {
  const writer = exchange.response;
  const length = readLength(response);
  if (response.body === null || exchange.method === "HEAD" || isBodiless(response.status)) {
    // A source that fails while it is cancelled has no reader.
    await response.body?.cancel().catch(() => {});
    const isKnown = length !== null && (exchange.method === "HEAD" || response.status === 304);
    const sent = isKnown ? length : response.body === null && !isBodiless(response.status) ? 0 : null;
    return writer.begin(response.status, blockOf(response, sent), sent, NOTHING, true);
  }
  const reader = response.body.getReader();
  const stop = () => void reader.cancel(new DOMException("The visitor has gone.", "AbortError")).catch(() => {});
  exchange.onLeave = stop;
  try {
    await sendBody(exchange, response, length, reader);
  } catch (error) {
    // A response that was stopped for a disconnected visitor may be short.
    if (!exchange.signal.aborted) throw error;
  }
}

/** Lower-case names with values. */
type Fields = Iterable<readonly [name: string, value: string]>;

/**
 * Sends a complete text. For small and frequent responses, because a `Response` would cost more than the rest.
 * @param headers lower-case names; names and values contain neither line breaks nor characters beyond U+00FF
 */
export function sendText(exchange: Exchange, status: number, headers: Fields, text: string): void {
  const bytes = Buffer.from(text);
  const body = exchange.method === "HEAD" ? NOTHING : bytes;
  const block = createBlock(STATUS_CODES[status] ?? "", headers, bytes.length);
  exchange.response.begin(status, block, bytes.length, body, true);
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function sendBody(exchange: Exchange, response: Response, length: number | null, reader: Reader): Promise<void> {
  const writer = exchange.response, { status } = response;
  const begin = (known: number | null, body: Uint8Array, end: boolean) =>
    writer.begin(status, blockOf(response, known), known, body, end);
  let reading = reader.read();
  const first = await soon(reading);
  let left = length;
  if (first === null) begin(length, NOTHING, false);
  else if (length !== null) {
    const body = first.value ?? NOTHING;
    left = length - body.length;
    if (left < 0 || (first.done && left > 0)) throw tooLongOrShort();
    begin(length, body, left === 0);
    if (left === 0) return void await reader.cancel().catch(() => {});
    reading = reader.read();
  } else {
    // A source may reuse a chunk's buffer after the next read.
    const body = first.value === undefined ? NOTHING : new Uint8Array(first.value);
    if (!first.done) reading = reader.read();
    // Most bodies are short: they leave in one write with their length. A later error is reported after it.
    const isWhole = first.done || (await soon(reading).catch(() => null))?.done === true;
    begin(isWhole ? body.length : null, body, isWhole);
    if (isWhole) return;
  }
  for (let read = await reading; !read.done; read = await reader.read()) {
    if (left !== null && (left -= read.value.length) < 0) throw tooLongOrShort();
    await writer.write(read.value);
  }
  if (left !== null && left > 0) throw tooLongOrShort();
  writer.end();
}

const tooLongOrShort = () => new RangeError("the response body does not match its Content-Length");

function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/** Returns the stated length, if valid. */
function readLength(response: Response): number | null {
  const length = response.headers.get("content-length");
  return length !== null && LENGTH.test(length) ? Number(length) : null;
}

const blockOf = ({ status, statusText, headers }: Response, length: number | null): Uint8Array =>
  createBlock(statusText || STATUS_CODES[status] || "", headers, length);

/** Returns reason phrase and field lines with the given length. */
function createBlock(reason: string, headers: Fields, length: number | null): Uint8Array {
  let text = `${reason}\r\n`;
  let hasDate = false;
  for (const [name, value] of headers) {
    if (OURS.has(name)) continue;
    if (name === "date") hasDate = true;
    text += `${name}: ${value}\r\n`;
  }
  if (length !== null) text += `content-length: ${length}\r\n`;
  if (!hasDate) text += `date: ${now()}\r\n`;
  return encodeLatin1(text);
}

let second = 0;
let date = "";

/** Returns the time for `Date` (RFC 9110, section 6.6.1). */
function now(): string {
  const time = Math.floor(Date.now() / 1000);
  if (time === second) return date;
  second = time;
  return date = new Date(time * 1000).toUTCString();
}

type Read = ReadableStreamReadResult<Uint8Array>;

/** Returns the read, or null if it takes longer than an event loop iteration. */
async function soon(read: Promise<Read>): Promise<Read | null> {
  return await Promise.race([read, new Promise<null>((resolve) => setImmediate(resolve, null))]);
}
