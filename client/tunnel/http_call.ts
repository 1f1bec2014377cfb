import { type Connect, ConnectError, type Connection, type ConnectOptions } from "../../common/connection/mod.ts";
import {
  createChunkedDecoder,
  parseResponseHead,
  type ResponseHead,
  ResponseSyntaxError,
} from "../../common/http1/mod.ts";

/** Answers of the relay's API are small; whoever sends more is no relay. */
const MAX_ANSWER = 256 * 1024;

/**
 * How long dialling, TLS and the whole answer may take together. A network that swallows what is sent says nothing, so
 * nothing else ends an attempt on it; and relays answer in milliseconds.
 */
const TIMEOUT_MS = 10_000;

/** What ends a request before its answer is there. */
export interface CallLimits {
  signal?: AbortSignal;
  /** For dialling, TLS and the whole answer together; default 10 seconds. */
  timeoutMs?: number;
}

/** One request to the relay. */
export interface HttpCall extends CallLimits {
  method: string;
  /** Where to, path and query included. */
  url: URL;
  headers?: Readonly<Record<string, string>>;
}

/** An answer, whole. */
export interface HttpAnswer {
  status: number;
  text: string;
  /** What follows a 101, which is the caller's to close; null for every other answer. */
  upgraded: UpgradedCall | null;
}

/** A connection that speaks another protocol now. */
export interface UpgradedCall {
  /** The field lines of the answer as text. */
  fields: string;
  connection: Connection;
  /** The bytes behind the answer that came with it. */
  rest: Uint8Array<ArrayBuffer>;
}

/** The peer ended the connection before its answer was complete. */
export class AnswerMissing extends Error {
  override name = "AnswerMissing";
}

function dialOptions(url: URL, signal: AbortSignal): ConnectOptions {
  const isTls = url.protocol === "https:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  return { hostname: url.hostname, port, tls: isTls ? {} : undefined, signal };
}

/**
 * Makes a request over a connection of its own and reads the answer.
 * It goes the way the session goes, through the same proxy and with the same certificates, which `fetch` would not.
 * @throws ConnectError (also when it takes too long or is given up), ResponseSyntaxError, AnswerMissing
 */
export async function call(connect: Connect, request: HttpCall): Promise<HttpAnswer> {
  const { timeoutMs = TIMEOUT_MS, signal: stop } = request;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException("it took too long", "TimeoutError")), timeoutMs);
  try {
    const signal = stop === undefined ? late.signal : AbortSignal.any([stop, late.signal]);
    return await attempt(connect, { ...request, signal });
  } catch (error) {
    // Closing the connection ends the wait, and what that looks like says nothing.
    if (error instanceof ConnectError) throw error;
    if (stop?.aborted) throw new ConnectError("aborted", "given up", { cause: error });
    if (!late.signal.aborted) throw error;
    throw new ConnectError("timeout", `no answer within ${timeoutMs / 1000} seconds`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

async function attempt(connect: Connect, request: HttpCall & { signal: AbortSignal }): Promise<HttpAnswer> {
  const { method, url, headers, signal } = request;
  const connection = await connect(dialOptions(url, signal));
  const close = () => connection.close();
  signal.addEventListener("abort", close);
  let upgraded: UpgradedCall | null = null;
  try {
    signal.throwIfAborted();
    await connection.write(serializeCall(request));
    const begun = await readHead(connection, method, headers?.upgrade !== undefined);
    signal.throwIfAborted();
    if (begun.head.status === 101) upgraded = { fields: begun.fields, connection, rest: begun.rest };
    return { status: begun.head.status, text: upgraded ? "" : await readText(connection, begun), upgraded };
  } finally {
    signal.removeEventListener("abort", close);
    if (upgraded === null) close();
  }
}

interface BegunAnswer {
  head: ResponseHead;
  fields: string;
  rest: Uint8Array<ArrayBuffer>;
}

async function readText(connection: Connection, { head, rest }: BegunAnswer): Promise<string> {
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
  const fields = Object.entries({ host: url.host, accept: "application/json", connection: "close", ...headers });
  // A header value with a line break would be a second header.
  const lines = fields.map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, "")}\r\n`);
  const length = method === "POST" ? "content-length: 0\r\n" : "";
  return new TextEncoder().encode(`${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}${length}\r\n`);
}

async function readHead(connection: Connection, method: string, upgrade: boolean): Promise<BegunAnswer> {
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
