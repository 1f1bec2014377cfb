import { Buffer } from "node:buffer";
import type { TargetConnection } from "./target_connection.ts";
import type { UpstreamRequest } from "./upstream.ts";

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** The body is not as long as its Content-Length says: sending it would put the next request out of step. */
export class BodyLengthError extends Error {
  override name = "BodyLengthError";
}

/** Writes a request's head, and its body as it is produced. Header names and values were checked before. */
export async function writeRequest(connection: TargetConnection, request: UpstreamRequest): Promise<void> {
  const { body } = request;
  const announced = request.headers.find(([name]) => name.toLowerCase() === "content-length")?.[1];
  const head = serializeHead(request, body !== null && !(body instanceof Uint8Array) && announced === undefined);
  if (body === null) return await connection.write(head);
  if (body instanceof Uint8Array) return await connection.write(Buffer.concat([head, body]));
  await connection.write(head);
  if (announced === undefined) await writeChunked(connection, body);
  else await writeExactly(connection, body, Number(announced));
}

function serializeHead({ method, url, headers, body }: UpstreamRequest, chunked: boolean): Buffer {
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  if (!headers.some(([name]) => name.length === 4 && name.toLowerCase() === "host")) head += `Host: ${url.host}\r\n`;
  for (const [name, value] of headers) head += `${name}: ${value}\r\n`;
  if (chunked) head += "Transfer-Encoding: chunked\r\n";
  else if (body instanceof Uint8Array) head += `Content-Length: ${body.byteLength}\r\n`;
  else if (body === null && METHODS_WITH_BODY.test(method)) head += "Content-Length: 0\r\n";
  return Buffer.from(`${head}\r\n`, "latin1");
}

/** Those that say their length even when they have none (RFC 9110, section 8.6). */
const METHODS_WITH_BODY = /^(POST|PUT|PATCH)$/;

/** Hexadecimal digits and a line end: more than any length of a piece needs. */
const CHUNK_LINE_BYTES = 18;

/** One write a chunk: three small ones would each wait for the peer, and each cost a call into the system. */
async function writeChunked(connection: TargetConnection, body: AsyncIterable<Uint8Array>): Promise<void> {
  let memory = Buffer.alloc(0);
  for await (const piece of body) {
    if (piece.byteLength === 0) continue;
    if (memory.length < piece.byteLength + CHUNK_LINE_BYTES + 2) {
      memory = Buffer.alloc(piece.byteLength + CHUNK_LINE_BYTES + 2);
    }
    const lineEnd = memory.write(`${piece.byteLength.toString(16)}\r\n`, "latin1");
    memory.set(piece, lineEnd);
    const end = lineEnd + piece.byteLength;
    memory.write("\r\n", end, "latin1");
    await connection.write(memory.subarray(0, end + 2));
  }
  await connection.write(LAST_CHUNK);
}

async function writeExactly(connection: TargetConnection, body: AsyncIterable<Uint8Array>, length: number) {
  let left = length;
  for await (const piece of body) {
    left -= piece.byteLength;
    if (left < 0) throw new BodyLengthError("the body is longer than announced");
    await connection.write(piece);
  }
  if (left > 0) throw new BodyLengthError("the body is shorter than announced");
}
