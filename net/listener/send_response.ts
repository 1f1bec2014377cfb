import { Buffer } from "node:buffer";
import { STATUS_CODES } from "node:http";
import { setImmediate } from "node:timers";
import { CONNECTION_FIELDS, encodeLatin1 } from "../http1/mod.ts";
import type { Exchange } from "./types.ts";

/** Fields that the listener sets itself, where it sets them at all: a response has no trailers to announce. */
const OURS: ReadonlySet<string> = new Set([...CONNECTION_FIELDS, "content-length"]);
const LENGTH = /^\d{1,15}$/;
const NOTHING = new Uint8Array(0);

/**
 * Answers an exchange with a web-standard response, as fast as the visitor takes it. Resolves when all is handed over
 * or the visitor has gone.
 * @throws what the body's stream failed with, or RangeError when it is not as long as it says
 */
export async function sendResponse(exchange: Exchange, response: Response): Promise<void> {
  const writer = exchange.response;
  const length = readLength(response);
  if (response.body === null || exchange.method === "HEAD" || isBodiless(response.status)) {
    // A source that fails while it is stopped has nobody left to tell.
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
    // What was stopped for a visitor who has gone is shorter than it says, and nobody's fault.
    if (!exchange.signal.aborted) throw error;
  }
}

/** Names in lower case, with their values. */
type Fields = Iterable<readonly [name: string, value: string]>;

/**
 * Answers an exchange with text that is there whole. For an answer that is small and often asked for: a `Response`
 * would cost more than all else about it.
 * @param headers names in lower case; neither they nor the values have line breaks or characters beyond U+00FF
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
    // A source may use a chunk's memory again once the next is asked for.
    const body = first.value === undefined ? NOTHING : new Uint8Array(first.value);
    if (!first.done) reading = reader.read();
    // Most bodies are there whole: then they go out in one piece, with their length.
    // What fails next is told behind what is there.
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

const tooLongOrShort = () => new RangeError("the answer's body is not as long as it says");

function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/** The length that the response states, if it is one. */
function readLength(response: Response): number | null {
  const length = response.headers.get("content-length");
  return length !== null && LENGTH.test(length) ? Number(length) : null;
}

const blockOf = ({ status, statusText, headers }: Response, length: number | null): Uint8Array =>
  createBlock(statusText || STATUS_CODES[status] || "", headers, length);

/** Reason phrase and field lines, the length as it is to be. */
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

/** The time as `Date` has it (RFC 9110, section 6.6.1). */
function now(): string {
  const time = Math.floor(Date.now() / 1000);
  if (time === second) return date;
  second = time;
  return date = new Date(time * 1000).toUTCString();
}

type Read = ReadableStreamReadResult<Uint8Array>;

/** The read, or null when it takes longer than a turn of the event loop. */
async function soon(read: Promise<Read>): Promise<Read | null> {
  return await Promise.race([read, new Promise<null>((resolve) => setImmediate(resolve, null))]);
}
