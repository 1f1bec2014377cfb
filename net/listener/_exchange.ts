import { SMALL } from "../../common/buffers/buffer_pool.ts";
import { expectationFailed, HttpError } from "../../common/http_error.ts";
import { decodeLatin1, type RequestHead, type RequestSyntaxError } from "../http1/mod.ts";
import type { ListenerLimits } from "./limits.ts";
import type { Exchange } from "./types.ts";

/** All fields in a head: name, as sent or in lower case, then value, and so on. */
export function listHeaders(head: RequestHead, lowerCase: boolean): string[] {
  const list: string[] = [];
  for (let field = 0; field < head.fieldCount; field++) {
    const name = head.name(field);
    list.push(lowerCase ? name.toLowerCase() : name, head.value(field));
  }
  return list;
}

/** Reports whether a request is an acceptable WebSocket handshake (RFC 6455, section 4.2.1). */
export function isWebSocketHandshake(exchange: Pick<Exchange, "method" | "header">): boolean {
  return exchange.method === "GET" && exchange.header("upgrade")?.toLowerCase() === "websocket" &&
    exchange.header("sec-websocket-version") === "13" &&
    /^[A-Za-z0-9+/]{22}==$/.test(exchange.header("sec-websocket-key") ?? "");
}

/** Returns an error for an unsupported `Expect`; else null. */
export function findExpectationFault({ head }: Pick<Exchange, "head">): HttpError | null {
  if (head.expectation !== "unknown") return null;
  return expectationFailed(`This server knows no expectation "${head.values("expect")}".`, {
    supported_expectations: ["100-continue"],
  });
}

/** Returns 400, and the connection ends, because later bytes may not be a request. */
export function badRequest(message: string, options?: ErrorOptions): HttpError {
  return new HttpError(400, "bad_request", message, { ...options, headers: { connection: "close" } });
}

/** The text for 431, equal for both listeners. */
export const HEAD_TOO_LARGE = "The request's line and headers are too large.";

const CODES = { 400: "bad_request", 431: "head_too_large", 505: "http_version_not_supported" } as const;

/** Returns the response to an invalid head, after which the connection ends. */
export function headFault(error: RequestSyntaxError): HttpError {
  const { status, message } = error;
  return new HttpError(status, CODES[status], message, { cause: error, headers: { connection: "close" } });
}

/** Reads Accept from an unparsable head as far as received, to choose a page or JSON. */
export function findAccept(head: Uint8Array): string | null {
  return /\r\naccept:[ \t]*([^\r\n]*)/i.exec(decodeLatin1(head, 0, head.length))?.[1] ?? null;
}

/** Returns the body as a stream, which reads on demand and fills the reader's buffer. */
export function streamBody(exchange: Pick<Exchange, "readBody">): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const piece = await exchange.readBody();
      const wanted = controller.byobRequest;
      if (piece === null) {
        controller.close();
        return wanted?.respond(0);
      }
      const view = wanted?.view;
      // Copies, because the stream detaches the buffer, which a Node Buffer would share.
      if (wanted === null || !view || view.byteLength < piece.length) return controller.enqueue(new Uint8Array(piece));
      new Uint8Array(view.buffer, view.byteOffset, piece.length).set(piece);
      wanted.respond(piece.length);
    },
  });
}

/**
 * Returns a web-standard `Request`, with bytes above 0x7f escaped in its URL.
 * @throws HttpError 400 for an unsupported method or host, or a body with GET
 */
export function createRequest(exchange: Exchange): Request {
  const { method, body, headers, signal, secure, host } = exchange;
  try {
    // `duplex` is needed for a streamed body and missing from the type.
    const init: RequestInit & { duplex: "half" } = { method, headers: pairs(headers), body, duplex: "half", signal };
    const path = exchange.path === "*" ? "/" : escapeBytes(exchange.path);
    return new Request(`${secure ? "https" : "http"}://${host || "localhost"}${path}`, init);
  } catch (cause) {
    throw badRequest("This request has a method, a host or a body that cannot be used here.", { cause });
  }
}

function pairs(headers: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let at = 0; at < headers.length; at += 2) list.push([headers[at], headers[at + 1]]);
  return list;
}

function escapeBytes(path: string): string {
  return path.replace(/[\x80-\xff]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Tracks a visitor that can disconnect before the response is complete. */
export abstract class Leavable {
  #abort: AbortController | null = null;
  #hasLeft = false;
  #onLeave: (() => void) | null = null;

  /** As `Exchange.signal`. Created on demand. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#hasLeft) this.#abort.abort(createLeft());
    return this.#abort.signal;
  }

  /** As `Exchange.onLeave`. */
  get onLeave(): (() => void) | null {
    return this.#onLeave;
  }

  set onLeave(leave: (() => void) | null) {
    this.#onLeave = leave;
    if (this.#hasLeft && leave !== null) queueMicrotask(leave);
  }

  protected get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** Notifies all subscribers that the visitor disconnected. */
  protected tellLeft(): void {
    this.#hasLeft = true;
    this.#onLeave?.();
    this.#abort?.abort(createLeft());
  }
}

const createLeft = () => new DOMException("The visitor has gone.", "AbortError");

/** The speed of an awaited body. */
export class BodyPace {
  #isWaiting = false;
  /** Seconds of waiting, and the bytes received meanwhile. */
  #waited = 0;
  #came = 0;

  /** Starts to wait for more. */
  wait(): void {
    this.#isWaiting = true;
  }

  /** Adds received bytes. */
  came(bytes: number): void {
    this.#isWaiting = false;
    this.#came += bytes;
    // Fast visitors have no time limit.
    if (bytes > SMALL) this.#waited = this.#came = 0;
  }

  /** Reports whether the body is too slow. Called once a second. */
  isTooSlow({ bodySeconds, bodyRate }: ListenerLimits): boolean {
    if (!this.#isWaiting || ++this.#waited <= bodySeconds) return false;
    const isSlow = this.#came < bodyRate * bodySeconds;
    this.#waited = this.#came = 0;
    return isSlow;
  }
}
