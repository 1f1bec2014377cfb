import { Buffer } from "node:buffer";
import { once } from "node:events";
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
  if (!mayHaveBody(method, response.status) || response.body === null) {
    await response.body?.cancel();
    if (response.status === 304 || method === "HEAD") out.flushHeaders();
    out.end();
    return;
  }
  const reader = response.body.getReader();
  const isShort = !response.headers.has("content-length") && await writeShortBody(out, reader);
  if (!isShort) await pumpBody(reader, out);
}

/**
 * A body that is all there goes out with its length instead of as chunks. What was read of a longer one is written,
 * so that its first bytes never wait for more.
 */
async function writeShortBody(out: ServerResponse, reader: ReadableStreamDefaultReader<Uint8Array>): Promise<boolean> {
  const first = await reader.read();
  if (first.done) {
    out.end();
    return true;
  }
  const next = reader.read();
  const turn = new Promise<null>((resolve) => setImmediate(resolve, null));
  const second = await Promise.race([next, turn]);
  if (second?.done) {
    out.setHeader("content-length", first.value.length);
    out.end(first.value);
    return true;
  }
  await writeChunk(out, first.value);
  const after = await Promise.race([next, gone(out)]);
  if (after === null || out.destroyed) await reader.cancel();
  else if (after.done) out.end();
  else {
    await writeChunk(out, after.value);
    return false;
  }
  return true;
}

/** Writes a body to the end. When `out` closes first, the body is cancelled, so that its source stops. */
async function pumpBody(reader: ReadableStreamDefaultReader<Uint8Array>, out: Writable): Promise<void> {
  const closed = gone(out);
  for (;;) {
    const read = await Promise.race([reader.read(), closed]);
    if (read === null || out.destroyed) {
      return await reader.cancel(new DOMException("The visitor has gone.", "AbortError"));
    }
    if (read.done) {
      out.end();
      return;
    }
    await writeChunk(out, read.value);
  }
}

/** Resolves with null when `out` has closed. */
function gone(out: Writable): Promise<null> {
  return out.destroyed ? Promise.resolve(null) : new Promise((resolve) => out.once("close", () => resolve(null)));
}

async function writeChunk(out: Writable, chunk: Uint8Array): Promise<void> {
  if (chunk.length === 0 || out.destroyed || out.write(chunk)) return;
  const wait = new AbortController();
  const { signal } = wait;
  // Whichever comes first; the other one's listener goes with the signal.
  await Promise.race([once(out, "drain", { signal }), once(out, "close", { signal })]).finally(() => wait.abort());
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
  else await pumpBody(body.getReader(), socket);
}
