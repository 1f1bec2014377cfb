import type { Connect, Connection, ConnectOptions } from "../../common/connection/mod.ts";
import {
  createChunkedDecoder,
  parseResponseHead,
  type ResponseHead,
  ResponseSyntaxError,
} from "../../common/http1/mod.ts";

/** Answers of the relay's API are small; whoever sends more is no relay. */
const MAX_ANSWER = 256 * 1024;

/** One request to the relay. */
export interface HttpCall {
  method: string;
  /** Where to, path and query included. */
  url: URL;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** An answer's head, the connection it came on, and the bytes behind the head that came with it. */
export interface HttpAnswer {
  head: ResponseHead;
  /** The field lines as text. */
  fields: string;
  connection: Connection;
  rest: Uint8Array<ArrayBuffer>;
}

/** The peer ended the connection before its answer was complete. */
export class AnswerMissing extends Error {
  override name = "AnswerMissing";
}

/** Where a URL is dialled. */
export function dialOptions(url: URL, signal?: AbortSignal): ConnectOptions {
  const isTls = url.protocol === "https:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  return { hostname: url.hostname, port, tls: isTls ? {} : undefined, signal };
}

/**
 * Makes a request over a connection of its own and reads the answer's head. The caller closes the connection.
 * It goes the way the session goes, through the same proxy and with the same certificates, which `fetch` would not.
 * @throws ConnectError, ResponseSyntaxError, AnswerMissing
 */
export async function startCall(connect: Connect, call: HttpCall): Promise<HttpAnswer> {
  const connection = await connect(dialOptions(call.url, call.signal));
  const close = () => connection.close();
  call.signal?.addEventListener("abort", close);
  try {
    await connection.write(serializeCall(call));
    const isUpgrade = call.headers?.upgrade !== undefined;
    return { ...await readHead(connection, call.method, isUpgrade), connection };
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    call.signal?.removeEventListener("abort", close);
  }
}

/**
 * {@link startCall}, then the whole body as text.
 * @throws ConnectError, ResponseSyntaxError, AnswerMissing
 */
export async function call(connect: Connect, request: HttpCall): Promise<{ status: number; text: string }> {
  const answer = await startCall(connect, { ...request, headers: { ...request.headers, connection: "close" } });
  try {
    return { status: answer.head.status, text: await readText(answer) };
  } finally {
    answer.connection.close();
  }
}

/** The body of an answer as text. */
export async function readText({ head, connection, rest }: HttpAnswer): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const decoder = head.framing === "chunked" ? createChunkedDecoder() : null;
  const take = (bytes: Uint8Array) => {
    pieces.push(bytes.slice());
    size += bytes.length;
    if (size > MAX_ANSWER) throw new ResponseSyntaxError("the answer is too large");
  };
  const isComplete = () =>
    decoder?.done ?? (head.framing === "none" || (head.framing === "length" && size >= head.length));
  const memory = new Uint8Array(16 * 1024);
  for (let bytes: Uint8Array = rest;;) {
    if (decoder === null) take(bytes);
    else decoder.push(bytes, take);
    if (isComplete()) break;
    const count = await connection.read(memory);
    if (count === null && head.framing === "close") break;
    if (count === null) throw new AnswerMissing("the answer was cut short");
    bytes = memory.subarray(0, count);
  }
  return await new Blob(pieces as Uint8Array<ArrayBuffer>[]).text();
}

function serializeCall({ method, url, headers = {} }: HttpCall): Uint8Array {
  const fields = Object.entries({ host: url.host, accept: "application/json", ...headers });
  // A header value with a line break would be a second header.
  const lines = fields.map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, "")}\r\n`);
  const length = method === "POST" ? "content-length: 0\r\n" : "";
  return new TextEncoder().encode(`${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}${length}\r\n`);
}

async function readHead(
  connection: Connection,
  method: string,
  upgrade: boolean,
): Promise<Omit<HttpAnswer, "connection">> {
  const memory = new Uint8Array(80 * 1024);
  for (let have = 0, at = 0;;) {
    const count = await connection.read(memory.subarray(have));
    if (count === null) throw new AnswerMissing("the connection was closed without an answer");
    have += count;
    for (let head = parseResponseHead(memory, at, have, { method, upgrade }); head !== null;) {
      if (!head.informational) {
        const fields = new TextDecoder().decode(memory.subarray(head.fieldsStart, head.fieldsEnd));
        return { head, fields, rest: memory.slice(head.end, have) };
      }
      at = head.end;
      head = parseResponseHead(memory, at, have, { method, upgrade });
    }
  }
}
