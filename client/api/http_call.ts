import { type Connect, ConnectError, type Connection, type ConnectOptions } from "../../net/connection/mod.ts";
import {
  createChunkedDecoder,
  parseResponseHead,
  type ResponseHead,
  ResponseSyntaxError,
} from "../../net/http1/mod.ts";

/** Most answers of the API are small; whoever sends more where nobody expects it is no Portway server. */
const MAX_ANSWER = 256 * 1024;

/**
 * How long dialling, TLS and the whole answer may take together. A network that swallows what is sent says nothing, so
 * nothing else ends an attempt on it; and relays answer in milliseconds.
 */
const TIMEOUT_MS = 10_000;

/** What ends a request before its answer is there. */
export interface CallLimits {
  signal?: AbortSignal;
  /** For dialling, TLS and the whole answer together, or up to its head when it is a stream; default 10 seconds. */
  timeoutMs?: number;
  /** Bytes that a whole answer may have; default 256 KiB. */
  maxBytes?: number;
}

/** One request to the server. */
export interface HttpCall extends CallLimits {
  method: string;
  /** Where to, path and query included. */
  url: URL;
  headers?: Readonly<Record<string, string>>;
  /** Left out for none. Its type goes into `headers`. */
  body?: string;
}

/** An answer, whole. */
export interface HttpResponse {
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

/** An answer that comes in pieces. */
export interface HttpStream {
  status: number;
  /** The value of a header field, by its name in lower case; undefined when there is none. */
  header(name: string): string | undefined;
  /** What follows its head. Each piece is the reader's own. To be read once; it fails when the answer is cut short. */
  body: AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** Ends it, at its end too. */
  close(): void;
}

/** The peer ended the connection before its answer was complete. */
export class ResponseMissing extends Error {
  override name = "ResponseMissing";
}

/**
 * Makes a request over a connection of its own and reads the answer.
 * It goes the way the session goes, through the same proxy and with the same certificates, which `fetch` would not.
 * @throws ConnectError (also when it takes too long or is given up), ResponseSyntaxError, ResponseMissing
 */
export async function call(connect: Connect, request: HttpCall): Promise<HttpResponse> {
  return await withinTime(request, async (signal) => {
    const begun = await begin(connect, request, signal);
    const { head, fields, connection, rest } = begun;
    if (head.status === 101) return { status: 101, text: "", upgraded: { fields, connection, rest } };
    const close = () => connection.close();
    signal.addEventListener("abort", close);
    try {
      return { status: head.status, text: await readText(begun, request.maxBytes ?? MAX_ANSWER), upgraded: null };
    } finally {
      signal.removeEventListener("abort", close);
      close();
    }
  });
}

/**
 * Makes a request and gives its answer as it comes, however long that takes. The caller closes it.
 * @throws ConnectError (also when its head takes too long or it is given up), ResponseSyntaxError, ResponseMissing
 */
export async function openStream(connect: Connect, request: HttpCall): Promise<HttpStream> {
  const begun = await withinTime(request, (signal) => begin(connect, request, signal));
  const { head, fields, connection } = begun;
  const close = () => connection.close();
  request.signal?.addEventListener("abort", close, { once: true });
  // The time it may be silent is the reader's to choose; a peer that has vanished is the system's to find.
  connection.keepAlive?.();
  return {
    status: head.status,
    header: (name) => readField(fields, name),
    body: readBody(begun),
    close() {
      request.signal?.removeEventListener("abort", close);
      close();
    },
  };
}

/** The value of a field among the lines of a head. */
export function readField(fields: string, name: string): string | undefined {
  return new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*\r$`, "im").exec(fields)?.[1];
}

/** Does what `attempt` does, and ends it when its time is over or it is given up. */
async function withinTime<T>(limits: CallLimits, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { timeoutMs = TIMEOUT_MS, signal: stop } = limits;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException("it took too long", "TimeoutError")), timeoutMs);
  try {
    return await attempt(stop === undefined ? late.signal : AbortSignal.any([stop, late.signal]));
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

/** An answer whose head was read. */
interface BegunResponse {
  head: ResponseHead;
  fields: string;
  connection: Connection;
  /** The bytes behind the head that came with it. */
  rest: Uint8Array<ArrayBuffer>;
}

/** Sends a request and reads the head of its answer. The connection is the caller's then, and closed when this fails. */
async function begin(connect: Connect, request: HttpCall, signal: AbortSignal): Promise<BegunResponse> {
  const { method, url, headers } = request;
  const connection = await connect(dialOptions(url, signal));
  const close = () => connection.close();
  signal.addEventListener("abort", close);
  try {
    signal.throwIfAborted();
    await connection.write(serializeCall(request));
    const begun = await readHead(connection, method, headers?.upgrade !== undefined);
    signal.throwIfAborted();
    return begun;
  } catch (error) {
    close();
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

function dialOptions(url: URL, signal: AbortSignal): ConnectOptions {
  const isTls = url.protocol === "https:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  return { hostname: url.hostname, port, tls: isTls ? {} : undefined, signal };
}

async function readText(begun: BegunResponse, maxBytes: number): Promise<string> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const piece of readBody(begun)) {
    size += piece.length;
    if (size > maxBytes) throw new ResponseSyntaxError("the answer is too large");
    pieces.push(piece);
  }
  return await new Blob(pieces).text();
}

async function* readBody({ head, connection, rest }: BegunResponse): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const decoder = head.framing === "chunked" ? createChunkedDecoder() : null;
  let size = 0;
  const isComplete = () =>
    decoder?.done ?? (head.framing === "none" || (head.framing === "length" && size >= head.length));
  const memory = new Uint8Array(16 * 1024);
  for (let bytes: Uint8Array = rest;;) {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    if (decoder === null) pieces.push(bytes.slice(0, head.framing === "close" ? undefined : head.length - size));
    else decoder.push(bytes, (data) => pieces.push(data.slice()));
    size += bytes.length;
    yield* pieces.filter(({ length }) => length > 0);
    if (isComplete()) return;
    const count = await connection.read(memory);
    if (count === null && head.framing === "close") return;
    if (count === null) throw new ResponseMissing("the answer was cut short");
    bytes = memory.subarray(0, count);
  }
}

function serializeCall({ method, url, headers = {}, body }: HttpCall): Uint8Array<ArrayBuffer> {
  const content = new TextEncoder().encode(body ?? "");
  const fields = Object.entries({ host: url.host, accept: "application/json", connection: "close", ...headers });
  // A header value with a line break would be a second header.
  const lines = fields.map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, "")}\r\n`);
  const length = body === undefined && method !== "POST" ? "" : `content-length: ${content.length}\r\n`;
  const head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}${length}\r\n`;
  return concatenate(new TextEncoder().encode(head), content);
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

async function readHead(connection: Connection, method: string, upgrade: boolean): Promise<BegunResponse> {
  const memory = new Uint8Array(80 * 1024);
  for (let have = 0, at = 0;;) {
    const count = await connection.read(memory.subarray(have));
    if (count === null) throw new ResponseMissing("the connection was closed without an answer");
    have += count;
    for (let head = parseResponseHead(memory, at, have, { method, upgrade }); head !== null;) {
      if (!head.informational) {
        const fields = new TextDecoder().decode(memory.subarray(head.fieldsStart, head.fieldsEnd));
        return { head, fields, connection, rest: memory.slice(head.end, have) };
      }
      at = head.end;
      head = parseResponseHead(memory, at, have, { method, upgrade });
    }
  }
}
