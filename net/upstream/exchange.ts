import { readResponseHead, ResponseBody, type UpstreamHead } from "./response.ts";
import type { UpstreamConnection } from "./connection.ts";
import { breakOff, ConnectionBroken, type Ending, type OutgoingFraming, type OutgoingRequest } from "./types.ts";
import { Buffer } from "node:buffer";
import { RequestSyntaxError } from "../http1/mod.ts";
import { BodyWriter } from "./body_writer.ts";
import { aborted } from "../../common/delay.ts";

/** A response with an unread body. */
export interface UpstreamResponse extends UpstreamHead {
  /** Empty after 101: the caller owns the connection then and detaches and closes it. */
  readonly body: ResponseBody;
}

/** The connection's owner, and the wording for errors. */
export interface ExchangeOptions {
  /** Takes the connection back when the response is complete and the connection is reusable. */
  release(connection: UpstreamConnection): void;
  /** Converts the cause of an early end into the reader's error. */
  explain(error: unknown): unknown;
}

/** State of sending the request. */
interface Sending {
  /** Resolves when it is done, or has failed. */
  readonly finished: Promise<void>;
  isDone: boolean;
  /** The reason to give up the response. */
  failure: { error: unknown } | null;
}

/**
 * Sends a request on a connection and reads the response head. The connection belongs to this request until its
 * response body ends; then it is released, or closed if it cannot be reused.
 * @throws NoResponse without a response byte, or another error
 */
export async function exchange(
  connection: UpstreamConnection,
  request: OutgoingRequest,
  { release, explain }: ExchangeOptions,
): Promise<UpstreamResponse> {
  const { ending } = request;
  ending.onEnd(() => connection.close());
  if (ending.reason) connection.close();
  const sending = startSending(connection, request);
  try {
    const answer = await readResponseHead(connection, request);
    const { head, statusText, headers, keepMs } = answer;
    connection.keepMs = keepMs;
    // The connection is reusable only after the request is known to be sent.
    if (isSmall(request.body)) await sending.finished;
    const body = new ResponseBody({
      connection,
      head,
      explain: (error) => ending.reason ?? explain(sending.failure ? sending.failure.error : error),
      onEnd(reusable) {
        if (head.framing === "upgrade") return;
        ending.onEnd(null);
        // The rest of a request would be read as the next one.
        if (reusable && sending.isDone) release(connection);
        else connection.close();
      },
    });
    return { head, statusText, headers, keepMs, body };
  } catch (error) {
    connection.close();
    throw sending.failure ? sending.failure.error : error;
  }
}

/** A response can arrive before the request is sent, and can refuse the rest, so no code waits for the sending. */
function startSending(connection: UpstreamConnection, request: OutgoingRequest): Sending {
  const finished = writeRequest(connection, request).then(() => {
    sending.isDone = true;
  }, (error) => {
    // An upstream that accepts no more bytes may still have responded. A request that cannot be sent gets no response.
    if (error instanceof ConnectionBroken) return;
    sending.failure = { error };
    connection.close();
  });
  const sending: Sending = { finished, isDone: false, failure: null };
  return sending;
}

/** A request's line and fields, as pairs. */
export interface RequestLines {
  method: string;
  /** Path and query have one character per byte. */
  url: Pick<URL, "host" | "pathname" | "search">;
  /** In order. Content-Length is skipped, because the framing sets it; no other field may concern framing. */
  headers: readonly (readonly [string, string])[];
}

/**
 * Returns the head in Latin-1, with Host and framing added if missing.
 * @throws RequestSyntaxError for invalid lines. This is the last check before a line break could become a field or a
 * request.
 */
export function serializeRequestHead({ method, url, headers }: RequestLines, framing: OutgoingFraming): Buffer {
  let host = `Host: ${url.host}\r\n`;
  let fields = "";
  for (const [name, value] of headers) {
    if (!TOKEN.test(name) || !FIELD_VALUE.test(value)) throw unfit(`the field ${JSON.stringify(name)}`);
    const key = name.length === 4 || name.length === 14 ? name.toLowerCase() : "";
    if (key === "host") host = "";
    if (key !== "content-length") fields += `${name}: ${value}\r\n`;
  }
  const path = `${url.pathname}${url.search}`;
  if (!TOKEN.test(method) || !PATH.test(path)) throw unfit("the request line");
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${host}${fields}${framingField(framing, method)}\r\n`, "latin1");
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Characters beyond Latin-1 would be cut to another byte, possibly a line break. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const PATH = /^\/[\x21-\x7e\x80-\xff]*$/;

function framingField(framing: OutgoingFraming, method: string): string {
  if (framing === "chunked") return "Transfer-Encoding: chunked\r\n";
  if (framing !== "none") return `Content-Length: ${framing.length}\r\n`;
  return METHODS_WITH_BODY.test(method) ? "Content-Length: 0\r\n" : "";
}

/** Methods that send a length even without a body (RFC 9110, section 8.6). */
const METHODS_WITH_BODY = /^(POST|PUT|PATCH)$/;

function unfit(what: string): RequestSyntaxError {
  return new RequestSyntaxError(`${what} cannot be put into HTTP`);
}

const SMALL_BODY = 16 * 1024;

/** Reports whether head and body fit one write. */
function isSmall(body: OutgoingRequest["body"]): boolean {
  return body === null || (body instanceof Uint8Array && body.byteLength <= SMALL_BODY);
}

/**
 * Writes a request's head, and its body as it is produced.
 * @throws BodyLengthError, ConnectionBroken, or the body's error
 */
export async function writeRequest(connection: UpstreamConnection, request: OutgoingRequest): Promise<void> {
  const { head, framing, body } = request;
  if (body === null) return await connection.write(head).catch(breakOff);
  if (body instanceof Uint8Array) {
    if (isSmall(body)) return await connection.write(Buffer.concat([head, body])).catch(breakOff);
    await connection.write(head).catch(breakOff);
    return await connection.write(body).catch(breakOff);
  }
  await writeSequence(connection, head, framing, body);
}

/** Byte limit for queued body chunks during a write. */
const MAX_WAITING = 64 * 1024;

/**
 * Chunks that arrive during one write leave together in the next. A write per chunk would be slow, and waiting would
 * delay a trickle.
 */
async function writeSequence(
  connection: UpstreamConnection,
  head: Uint8Array,
  framing: OutgoingFraming,
  body: AsyncIterable<Uint8Array>,
): Promise<void> {
  let waiting = 0, wake = () => {};
  let failure: { error: unknown } | null = null;
  const writer = new BodyWriter(framing, {
    onBodyWritten(bytes) {
      waiting -= bytes;
      wake();
    },
    onBodyComplete: () => wake(),
    onBodyFailed(error) {
      failure ??= { error };
      wake();
    },
  });
  const until = async (isReady: () => boolean) => {
    while (failure === null && !isReady()) await new Promise<void>((resolve) => wake = resolve);
    if (failure !== null) throw failure.error;
  };
  writer.start(connection, head);
  for await (const piece of body) {
    waiting += piece.length;
    writer.push(piece);
    await until(() => waiting <= MAX_WAITING);
  }
  writer.finish();
  await until(() => writer.complete);
}

/** Ends a request when a signal aborts. */
export class SignalEnding implements Ending {
  readonly #signal: AbortSignal;
  readonly #explain: () => Error;
  #end: ((reason: Error) => void) | null = null;

  /** @param explain returns the reason after the signal has aborted */
  constructor(signal: AbortSignal, explain: () => Error) {
    this.#signal = signal;
    this.#explain = explain;
    void aborted(signal).then(() => this.#end?.(explain()));
  }

  get reason(): Error | null {
    return this.#signal.aborted ? this.#explain() : null;
  }

  onEnd(end: ((reason: Error) => void) | null): void {
    this.#end = end;
    if (end !== null && this.reason !== null) end(this.reason);
  }
}
