import { expectationFailed, type HttpError } from "../../http_error.ts";
import type { RequestHead } from "../../http1/mod.ts";
import { createRequest, isWebSocketHandshake, listHeaders, streamBody } from "../_request.ts";
import type { Exchange, Reply } from "../types.ts";
import { EdgeReply } from "./reply.ts";
import { RequestBody } from "./request_body.ts";
import type { Answered, Line } from "./types.ts";

/** A request of HTTP/1.1 or 1.0. What costs something is made when it is asked for: most are passed on as bytes. */
export class EdgeExchange implements Exchange, Answered {
  readonly reply: Reply;
  /** The body, as the connection reads it; null where there is none, as with most requests. */
  readonly input: RequestBody | null;
  onLeave: (() => void) | null = null;
  readonly #connection: Line;
  #abort: AbortController | null = null;
  /** Whether the connection goes on without it, or has ended. */
  hasSettled = false;
  #hasLeft = false;
  #body: ReadableStream<Uint8Array<ArrayBuffer>> | null = null;
  #request: Request | null = null;
  #headers: readonly string[] | null = null;

  /** @param connection whose head has just been read */
  constructor(connection: Line) {
    this.#connection = connection;
    this.input = connection.head.framing === "none" ? null : new RequestBody(connection);
    this.reply = new EdgeReply(connection, this);
  }

  get head(): RequestHead {
    return this.#connection.head;
  }

  get method(): string {
    return this.head.method;
  }

  get path(): string {
    return this.head.path;
  }

  get host(): string {
    return this.head.host;
  }

  /** Whether the answer's body stays behind. */
  get isHead(): boolean {
    return this.head.method === "HEAD";
  }

  get httpVersion(): "1.0" | "1.1" {
    return this.head.minorVersion === 1 ? "1.1" : "1.0";
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress;
  }

  get isCrowded(): boolean {
    return this.#connection.isCrowded;
  }

  get secure(): boolean {
    return this.#connection.secure;
  }

  get headers(): readonly string[] {
    return this.#headers ??= listHeaders(this.head, true);
  }

  get rawHeaders(): readonly string[] {
    return listHeaders(this.head, false);
  }

  header(name: string): string | null {
    return this.head.values(name);
  }

  get hasBody(): boolean {
    return this.head.framing !== "none";
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.hasBody ? this.#body ??= streamBody(this) : null;
  }

  readBody(): Promise<Uint8Array | null> {
    return this.input?.read() ?? NO_MORE;
  }

  get trailers(): Uint8Array {
    return this.input?.trailers ?? NO_TRAILERS;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#hasLeft) this.#abort.abort(createLeft());
    return this.#abort.signal;
  }

  get request(): Request {
    return this.#request ??= createRequest(this);
  }

  get upgrade(): string | null {
    return this.head.upgrade && !this.hasBody ? this.head.value(this.head.upgradeField) : null;
  }

  get isWebSocket(): boolean {
    return this.head.upgrade && isWebSocketHandshake(this);
  }

  /** What `Expect` asks for that nobody here can meet, as an error; else null. */
  get expectationFault(): HttpError | null {
    if (this.head.expectation !== "unknown") return null;
    const expected = this.header("expect");
    return expectationFailed(`This server knows no expectation "${expected}".`, {
      supported_expectations: ["100-continue"],
    });
  }

  /** The visitor has gone, before the answer was complete. */
  leave(): void {
    this.#hasLeft = true;
    this.settle();
    this.onLeave?.();
    this.#abort?.abort(createLeft());
  }

  /** The connection goes on without it. */
  settle(): void {
    this.hasSettled = true;
    this.input?.abandon();
  }
}

const NO_MORE = Promise.resolve(null);
const NO_TRAILERS = new Uint8Array(0);

const createLeft = () => new DOMException("The visitor has gone.", "AbortError");
