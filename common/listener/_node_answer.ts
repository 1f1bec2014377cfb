import { Buffer } from "node:buffer";
import type { ServerResponse } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Duplex, Writable } from "node:stream";

/** HTTP/2 knows none of these (RFC 9113, section 8.2.2), and node:http2 refuses to send them. */
const CONNECTION_FIELDS = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);

/** Whether an answer with this status, to this method, can have a body (RFC 9112, section 6.3). */
function mayHaveBody(method: string, status: number): boolean {
  return method !== "HEAD" && status !== 204 && status !== 304;
}

/** Field names and values as the handler gave them; each Set-Cookie apart. */
function listFields(response: Response): [string, string][] {
  return [...response.headers].filter(([name]) => name !== "content-length" || response.status !== 204);
}

/**
 * Writes an answer through node:http or node:http2, as fast as the visitor takes it. Resolves when all is handed over
 * or the visitor has gone. Rejects with what the body's stream failed with.
 */
export async function writeAnswer(out: ServerResponse, response: Response, method: string): Promise<void> {
  const isHttp2 = out.req.httpVersionMajor >= 2;
  const fields = listFields(response).filter(([name]) => !isHttp2 || !CONNECTION_FIELDS.has(name));
  out.statusCode = response.status;
  if (!isHttp2 && response.statusText !== "") out.statusMessage = response.statusText;
  for (const [name, value] of fields) if (name !== "set-cookie") out.setHeader(name, value);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) out.setHeader("set-cookie", cookies);
  const length = response.headers.get("content-length");
  if (mayHaveBody(method, response.status) && length !== null) {
    // A length that is none, or that no body follows, would let the next answer be read as this one's body.
    if (response.body === null) out.setHeader("content-length", 0);
    else if (!LENGTH.test(length)) out.removeHeader("content-length");
  }
  if (!mayHaveBody(method, response.status) || response.body === null) {
    await response.body?.cancel();
    if (response.status === 304 || method === "HEAD") out.flushHeaders();
    out.end();
    return;
  }
  const reader = checkLength(openBody(response.body, out), out.getHeader("content-length"));
  const first = reader.read();
  // Nothing there yet, as with events: the visitor gets the head now.
  if (await settledThisTurn(first) === null) out.flushHeaders();
  const read = await first;
  if (out.hasHeader("content-length")) await writeRead(out, read);
  else if (await writeShortBody(out, reader, read)) return;
  await pumpBody(reader, out);
}

type Read = ReadableStreamReadResult<Uint8Array>;
type BodyReader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read">;

const LENGTH = /^\d{1,15}$/;

/**
 * Holds a body to its announced length: node:http writes whatever it is given, and what is too much or too little would
 * be taken for the beginning or the end of the next answer on the connection. Reading fails instead.
 */
function checkLength(reader: BodyReader, announced: number | string | string[] | undefined): BodyReader {
  if (announced === undefined) return reader;
  let left = Number(announced);
  return {
    async read() {
      const read = await reader.read();
      left -= read.value?.length ?? 0;
      if (left < 0 || (read.done && left > 0)) throw new RangeError("the answer's body is not as long as it says");
      return read;
    },
  };
}

/** The read, or null when it takes longer than a turn of the event loop. */
async function settledThisTurn(read: Promise<Read>): Promise<Read | null> {
  return await Promise.race([read, new Promise<null>((resolve) => setImmediate(resolve, null))]);
}

/**
 * Writes the beginning of a body, and all of it when that is there: then with its length instead of as chunks.
 * Returns whether that was the end. What was read of a longer body never waits for more.
 */
async function writeShortBody(
  out: ServerResponse,
  reader: BodyReader,
  first: Read,
): Promise<boolean> {
  if (first.done) {
    if (!out.destroyed) out.end();
    return true;
  }
  const next = reader.read();
  const second = await settledThisTurn(next);
  if (second?.done && !out.headersSent) out.setHeader("content-length", first.value.length);
  await writeRead(out, first);
  const after = await next;
  if (after.done && !out.destroyed) out.end();
  else await writeRead(out, after);
  return after.done;
}

async function writeRead(out: Writable, read: Read): Promise<void> {
  if (!read.done) await writeChunk(out, read.value);
}

/** A reader that is cancelled when `out` closes first, so that the body's source stops and a read under way ends. */
function openBody(body: ReadableStream<Uint8Array>, out: Writable): ReadableStreamDefaultReader<Uint8Array> {
  const reader = body.getReader();
  const cancel = () => {
    // A source that fails while it is stopped has nobody left to tell.
    reader.cancel(new DOMException("The visitor has gone.", "AbortError")).catch(() => {});
  };
  if (out.destroyed) cancel();
  else out.once("close", cancel);
  return reader;
}

/** Writes a body to the end, as fast as `out` takes it. */
async function pumpBody(reader: BodyReader, out: Writable): Promise<void> {
  for (;;) {
    const read = await reader.read();
    if (read.done) break;
    await writeChunk(out, read.value);
  }
  if (!out.destroyed) out.end();
}

/** Resolves when `out` wants more, or has closed. */
async function writeChunk(out: Writable, chunk: Uint8Array): Promise<void> {
  if (chunk.length === 0 || out.destroyed || out.write(chunk)) return;
  await new Promise<void>((resolve) => {
    const finish = () => {
      out.off("drain", finish).off("close", finish);
      resolve();
    };
    out.on("drain", finish).on("close", finish);
  });
}

/** Writes an answer as HTTP/1.1 on a socket that was to be upgraded, and ends it. */
export async function writeRawAnswer(socket: Duplex, response: Response): Promise<void> {
  const { status, body } = response;
  const lines = listFields(response)
    .filter(([name]) => !CONNECTION_FIELDS.has(name))
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const reason = response.statusText || STATUS_CODES[status] || "";
  socket.write(Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n${lines.join("")}connection: close\r\n\r\n`, "latin1"));
  if (body === null) socket.end();
  else await pumpBody(openBody(body, socket), socket);
}
