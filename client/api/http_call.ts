import { type Connect, ConnectError, type Connection, type ConnectOptions } from "../../net/connection/mod.ts";
import {
  createChunkedDecoder,
  parseResponseHead,
  type ResponseHead,
  ResponseSyntaxError,
} from "../../net/http1/mod.ts";

/** Default response limit in bytes. A Portway server sends larger responses only where the caller allows them. */
const MAX_RESPONSE = 256 * 1024;

/**
 * Default limit for connecting, TLS and the whole response. A network that silently drops packets causes no error, so
 * only this timeout ends the attempt. Relays respond in milliseconds.
 */
const TIMEOUT_MS = 10_000;

/** Limits on a request. */
export interface CallLimits {
  signal?: AbortSignal;
  /** Milliseconds for connecting, TLS and the response (only its head for a stream); default 10 000. */
  timeoutMs?: number;
  /** Response limit in bytes; default 256 KiB. */
  maxBytes?: number;
}

/** One HTTP request to the server. */
export interface HttpCall extends CallLimits {
  method: string;
  /** The absolute URL, including path and query. */
  url: URL;
  headers?: Readonly<Record<string, string>>;
  /** Omitted for no body. The caller sets `content-type` in `headers`. */
  body?: string;
}

/** A complete response. */
export interface HttpResponse {
  status: number;
  text: string;
  /** The upgraded connection after a 101, which the caller closes; null for other statuses. */
  upgraded: UpgradedCall | null;
}

/** A connection that switched protocols. */
export interface UpgradedCall {
  /** The response header lines as text. */
  fields: string;
  connection: Connection;
  /** Bytes received after the response head. */
  rest: Uint8Array<ArrayBuffer>;
}

/** A streaming response. */
export interface HttpStream {
  status: number;
  /** Returns a header value by its lowercase name, or undefined. */
  header(name: string): string | undefined;
  /** The body, readable once. The caller owns each chunk. Iteration throws if the response ends early. */
  body: AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** Closes the connection; also required after the body's end. */
  close(): void;
}

/** The peer closed the connection before the response was complete. */
export class ResponseMissing extends Error {
  override name = "ResponseMissing";
}

/**
 * Sends a request over a new connection and reads the response. Unlike `fetch`, it uses the session's proxy and
 * certificates.
 * @throws ConnectError (also on timeout or abort), ResponseSyntaxError, ResponseMissing
 */
export async function call(connect: Connect, request: HttpCall): Promise<HttpResponse> {
  return await withinTime(request, async (signal) => {
    const begun = await begin(connect, request, signal);
    const { head, fields, connection, rest } = begun;
    if (head.status === 101) return { status: 101, text: "", upgraded: { fields, connection, rest } };
    const close = () => connection.close();
    signal.addEventListener("abort", close);
    try {
      return { status: head.status, text: await readText(begun, request.maxBytes ?? MAX_RESPONSE), upgraded: null };
    } finally {
      signal.removeEventListener("abort", close);
      close();
    }
  });
}

/**
 * Sends a request and streams the response without a time limit on the body. The caller closes the stream.
 * @throws ConnectError (also if the head times out, or on abort), ResponseSyntaxError, ResponseMissing
 */
export async function openStream(connect: Connect, request: HttpCall): Promise<HttpStream> {
  const begun = await withinTime(request, (signal) => begin(connect, request, signal));
  const { head, fields, connection } = begun;
  const close = () => connection.close();
  request.signal?.addEventListener("abort", close, { once: true });
  // The caller decides how long the stream may idle; TCP keep-alive detects a vanished peer.
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

/** Finds a header value in the lines of a head. */
export function readField(fields: string, name: string): string | undefined {
  return new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*\r$`, "im").exec(fields)?.[1];
}

/** Runs `attempt` and aborts it on timeout or cancellation. */
async function withinTime<T>(limits: CallLimits, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { timeoutMs = TIMEOUT_MS, signal: stop } = limits;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException("it took too long", "TimeoutError")), timeoutMs);
  try {
    return await attempt(stop === undefined ? late.signal : AbortSignal.any([stop, late.signal]));
  } catch (error) {
    // Closing the connection raises an unrelated error, so the actual cause replaces it.
    if (error instanceof ConnectError) throw error;
    if (stop?.aborted) throw new ConnectError("aborted", "given up", { cause: error });
    if (!late.signal.aborted) throw error;
    throw new ConnectError("timeout", `no response within ${timeoutMs / 1000} seconds`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** A response whose head is read. */
interface BegunResponse {
  head: ResponseHead;
  fields: string;
  connection: Connection;
  /** Bytes received after the head. */
  rest: Uint8Array<ArrayBuffer>;
}

/** Sends a request and reads the response head. Closes the connection on failure; otherwise the caller owns it. */
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
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of readBody(begun)) {
    size += chunk.length;
    if (size > maxBytes) throw new ResponseSyntaxError("the response is too large");
    chunks.push(chunk);
  }
  return await new Blob(chunks).text();
}

async function* readBody({ head, connection, rest }: BegunResponse): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const decoder = head.framing === "chunked" ? createChunkedDecoder() : null;
  let size = 0;
  const isComplete = () =>
    decoder?.done ?? (head.framing === "none" || (head.framing === "length" && size >= head.length));
  const buffer = new Uint8Array(16 * 1024);
  for (let bytes: Uint8Array = rest;;) {
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    if (decoder === null) chunks.push(bytes.slice(0, head.framing === "close" ? undefined : head.length - size));
    else decoder.push(bytes, (data) => chunks.push(data.slice()));
    size += bytes.length;
    yield* chunks.filter(({ length }) => length > 0);
    if (isComplete()) return;
    const count = await connection.read(buffer);
    if (count === null && head.framing === "close") return;
    if (count === null) throw new ResponseMissing("the response ended early");
    bytes = buffer.subarray(0, count);
  }
}

function serializeCall({ method, url, headers = {}, body }: HttpCall): Uint8Array<ArrayBuffer> {
  const content = new TextEncoder().encode(body ?? "");
  const fields = Object.entries({ host: url.host, accept: "application/json", connection: "close", ...headers });
  // A line break in a value would inject another header.
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
  const buffer = new Uint8Array(80 * 1024);
  for (let have = 0, at = 0;;) {
    const count = await connection.read(buffer.subarray(have));
    if (count === null) throw new ResponseMissing("the connection was closed without an response");
    have += count;
    for (let head = parseResponseHead(buffer, at, have, { method, upgrade }); head !== null;) {
      if (!head.informational) {
        const fields = new TextDecoder().decode(buffer.subarray(head.fieldsStart, head.fieldsEnd));
        return { head, fields, connection, rest: buffer.slice(head.end, have) };
      }
      at = head.end;
      head = parseResponseHead(buffer, at, have, { method, upgrade });
    }
  }
}
