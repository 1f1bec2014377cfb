import { readResponseHead, ResponseBody, type UpstreamHead } from "./response.ts";
import type { UpstreamConnection } from "./connection.ts";
import { breakOff, ConnectionBroken, type Ending, type OutgoingFraming, type OutgoingRequest } from "./types.ts";
import { Buffer } from "node:buffer";
import { RequestSyntaxError } from "../http1/mod.ts";
import { BodyWriter } from "./body_writer.ts";
import { aborted } from "../../common/delay.ts";

/** An answer whose body has not been read yet. */
export interface UpstreamResponse extends UpstreamHead {
  /** Of no bytes after 101: the connection is the caller's then, to detach and close. */
  readonly body: ResponseBody;
}

/** Who takes the connection back, and who puts errors into words. */
export interface ExchangeOptions {
  /** Takes the connection back when the answer has been read to its end and it can carry another request. */
  release(connection: UpstreamConnection): void;
  /** Turns what ended the body early into what its reader is told. */
  explain(error: unknown): unknown;
}

/** What became of sending the request. */
interface Sending {
  /** Resolves when it is done, or has failed. */
  readonly finished: Promise<void>;
  isDone: boolean;
  /** Why there is no point in an answer any more. */
  failure: { error: unknown } | null;
}

/**
 * Sends a request on a connection and reads the head of its answer. The connection is this request's until the body of
 * the answer has ended: it is released then, or closed where it cannot carry another request.
 * @throws NoResponse when not a byte of an answer came, or what else went wrong
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
    // It is on its way, and unless that is known the connection cannot be used again.
    if (isSmall(request.body)) await sending.finished;
    const body = new ResponseBody({
      connection,
      head,
      explain: (error) => ending.reason ?? explain(sending.failure ? sending.failure.error : error),
      onEnd(reusable) {
        if (head.framing === "upgrade") return;
        ending.onEnd(null);
        // What is left of a request would be read as the next one.
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

/** An answer may come before the request has been sent, and may refuse the rest of it: nobody waits for the sending. */
function startSending(connection: UpstreamConnection, request: OutgoingRequest): Sending {
  const finished = writeRequest(connection, request).then(() => {
    sending.isDone = true;
  }, (error) => {
    // An upstream that takes no more may have answered all the same. What cannot be sent gets no answer.
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
  /** Path and query have one character a byte. */
  url: Pick<URL, "host" | "pathname" | "search">;
  /** In order. A Content-Length among them is passed over, as framing says it; nothing else may speak of framing. */
  headers: readonly (readonly [string, string])[];
}

/**
 * The head as bytes, in Latin-1, with Host and framing added where they are not given.
 * @throws RequestSyntaxError for what would not be one line each. It is the last place where a line break could become
 * a header, or a request, of its own.
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
/** What is beyond Latin-1 would be cut down to another byte, which may be a line break. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const PATH = /^\/[\x21-\x7e\x80-\xff]*$/;

function framingField(framing: OutgoingFraming, method: string): string {
  if (framing === "chunked") return "Transfer-Encoding: chunked\r\n";
  if (framing !== "none") return `Content-Length: ${framing.length}\r\n`;
  return METHODS_WITH_BODY.test(method) ? "Content-Length: 0\r\n" : "";
}

/** Those that say their length even when they have none (RFC 9110, section 8.6). */
const METHODS_WITH_BODY = /^(POST|PUT|PATCH)$/;

function unfit(what: string): RequestSyntaxError {
  return new RequestSyntaxError(`${what} cannot be put into HTTP`);
}

const SMALL_BODY = 16 * 1024;

/** Whether a request goes out in one write, head and body. */
function isSmall(body: OutgoingRequest["body"]): boolean {
  return body === null || (body instanceof Uint8Array && body.byteLength <= SMALL_BODY);
}

/**
 * Writes a request's head, and its body as it is produced.
 * @throws BodyLengthError, ConnectionBroken, or what the body throws
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

/** Bytes of a sequence that wait while others are being written. */
const MAX_WAITING = 64 * 1024;

/**
 * What a sequence gives during one write goes out together in the next: a write a piece would make small pieces slow,
 * and waiting for more would make a trickle late.
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

  /** @param explain why the request has to end, asked once the signal has aborted */
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
