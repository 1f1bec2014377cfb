import type { RequestHead } from "../../net/http1/mod.ts";
import type { FetchTarget } from "../../common/fetch_target.ts";
import { describeValue } from "../../common/describe_value.ts";
import { errorResponse, HttpError } from "../../common/http_error.ts";
import { MAX_HEAD, type RequestStream, ResetReason, StreamEnded, type StreamHandler } from "../../protocol/mod.ts";
import type { Target, TunnelRequest } from "./target.ts";

/**
 * Creates a target from a handler in this process: a shared folder, a site, a function of the user. It needs no local port.
 * WebSocket handshakes get 501; other offers of an upgrade are ignored, as HTTP allows.
 * @param report receives the error of a response that cannot be sent; its visitor gets 500
 */
export function createHandlerTarget(
  name: string,
  target: FetchTarget,
  report: (error: unknown) => void = () => {},
): Target {
  return {
    name,
    handle: (request) => new HandlerExchange(request, target, report),
    close: () => target.close(),
  };
}

class HandlerExchange implements StreamHandler {
  readonly #stream: RequestStream;
  readonly #report: (error: unknown) => void;
  readonly #abort = new AbortController();
  #body: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  /** Chunks of the body that the handler has not read. */
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #hasEnded = false;
  #wake: () => void = () => {};
  /** Whether the relay waits for `100 Continue` before it sends the body. */
  #owesContinue: boolean;

  constructor(request: TunnelRequest, target: FetchTarget, report: (error: unknown) => void) {
    this.#stream = request.stream;
    this.#owesContinue = request.head.expectation === "continue";
    this.#report = report;
    void this.#run(request, target);
  }

  onData(piece: Uint8Array, end: boolean): void {
    if (piece.length > 0 && this.#body !== null) this.#chunks.push(piece.slice());
    if (end) this.#hasEnded = true;
    this.#wake();
  }

  onReset(): void {
    // A body that was received completely stays readable.
    if (!this.#hasEnded) {
      this.#body?.error(new DOMException("the visitor disconnected", "AbortError"));
      this.#body = null;
    }
    this.#wake();
    this.#abort.abort();
  }

  async #run({ head, bodyless, upgrade }: TunnelRequest, target: FetchTarget): Promise<void> {
    const fields = parseFields(head), { method } = head, path = toPath(head);
    const header = (name: string) => fields.find(([known]) => known === name)?.[1] ?? "";
    const hasBody = !bodyless && !upgrade && method !== "GET" && method !== "HEAD";
    const info = { path, remoteAddress: header("x-forwarded-for"), publicHost: header("x-forwarded-host") };
    try {
      if (upgrade && /^websocket$/i.test(header("upgrade"))) return await this.#refuse(noWebSocket());
      const origin = `${header("x-forwarded-proto") === "https" ? "https" : "http"}://${header("host") || "localhost"}`;
      const request = this.#createRequest(origin, { method, path, fields, hasBody });
      if (request === null) return await this.#refuse(badRequest());
      const response = await target.fetch(request, info);
      checkResponse(response);
      await this.#send(response, method === "HEAD");
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#body = null;
      // The rest of the request is not wanted, and would get no credit.
      this.#stream.reset(ResetReason.none);
    }
  }

  /** Ends an exchange whose response cannot be sent, or not to its end. */
  async #fail(error: unknown): Promise<void> {
    if (error instanceof StreamEnded || this.#stream.ended !== null) return;
    this.#report(error);
    // After its head the response can only be cut.
    if (this.#stream.status !== 0) return this.#stream.reset(ResetReason.broken, "the response broke off");
    await this.#refuse(handlerFailed());
  }

  async #refuse(error: HttpError): Promise<void> {
    await this.#send(errorResponse(error, null), false).catch(() => this.#stream.reset(ResetReason.internal));
  }

  /** Returns null for a request that the web API refuses, such as one with the method TRACE. */
  #createRequest(origin: string, { method, path, fields, hasBody }: RequestParts): Request | null {
    const init: RequestInit & { duplex?: "half" } = { method, headers: fields, signal: this.#abort.signal };
    if (hasBody) {
      init.body = this.#createBody();
      init.duplex = "half";
    }
    try {
      return new Request(`${origin}${path.startsWith("//") ? `/.${path}` : path}`, init);
    } catch {
      return null;
    }
  }

  #createBody(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        this.#body = controller;
      },
      pull: (controller) => this.#pull(controller),
      cancel: () => {
        this.#body = null;
        this.#chunks.length = 0;
      },
    }, { highWaterMark: 0 });
  }

  /** Gives credit back as the handler takes chunks, not as they arrive. */
  async #pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    this.#continue();
    while (this.#body !== null && this.#chunks.length === 0 && !this.#hasEnded) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const chunk = this.#chunks.shift();
    if (this.#body === null) return;
    if (chunk === undefined) return controller.close();
    controller.enqueue(chunk);
    this.#stream.consumed(chunk.length);
  }

  /** Asks for the body when the handler first reads it, so that a refusal can come before it. */
  #continue(): void {
    if (!this.#owesContinue) return;
    this.#owesContinue = false;
    this.#stream.inform(100, CONTINUE, 0, CONTINUE.length);
  }

  async #send(response: Response, isHead: boolean): Promise<void> {
    const head = serializeBlock(response);
    if (head.length > MAX_HEAD) throw new RangeError("cannot send the response: its head is too large");
    if (this.#stream.room === 0) await this.#stream.whenRoom();
    const respond = (body: Uint8Array, end: boolean) =>
      this.#stream.respond(response.status, head, 0, head.length, body, 0, body.length, end);
    if (response.body === null || isHead) {
      await response.body?.cancel();
      return respond(NOTHING, true);
    }
    const reader = response.body.getReader();
    this.#abort.signal.addEventListener("abort", () => reader.cancel().catch(() => {}));
    try {
      await this.#sendBody(reader, response, respond);
    } catch (error) {
      reader.cancel(error).catch(() => {});
      throw error;
    }
  }

  async #sendBody(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    response: Response,
    respond: (body: Uint8Array, end: boolean) => void,
  ): Promise<void> {
    let next = await reader.read();
    const first = next.value === undefined ? NOTHING : checkChunk(next.value);
    const fits = first.length <= this.#stream.room;
    const isWhole = next.done || first.length === Number(response.headers.get("content-length") ?? NaN);
    respond(fits ? first : NOTHING, fits && isWhole);
    // One frame for a small file costs the relay half as much as a stream.
    if (fits && isWhole) return await reader.cancel();
    if (!fits) await this.#stream.write(first);
    while (!next.done) {
      next = await reader.read();
      if (next.value !== undefined) await this.#stream.write(checkChunk(next.value));
    }
    this.#stream.end();
  }
}

/** The parts of a head that make a `Request`. */
interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly fields: [string, string][];
  readonly hasBody: boolean;
}

const badRequest = () => new HttpError(400, "bad_request", "This request cannot be handled.");
const handlerFailed = () => new HttpError(500, "handler_failed", "The handler of this request failed.");
const noWebSocket = () => new HttpError(501, "upgrade_not_supported", "This address accepts no WebSocket.");

/** @throws TypeError for a value that cannot be sent as a response */
function checkResponse(response: unknown): asserts response is Response {
  if (!(response instanceof Response)) {
    throw new TypeError(`cannot send the response: the handler returned ${describeValue(response)}, not a Response`);
  }
  const { status } = response;
  if (status < 200 || status > 599) {
    throw new RangeError(`cannot send a response with status ${status}: it must be between 200 and 599`);
  }
  if (response.bodyUsed) throw new TypeError("cannot send the response: its body was used already");
}

/** @throws TypeError for a chunk that does not consist of bytes */
function checkChunk(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw new TypeError(`cannot send the body: it must consist of bytes (Uint8Array), and holds ${describeValue(chunk)}`);
}

const NOTHING = new Uint8Array(0);
/** Reason phrase of `100 Continue`, without fields. */
const CONTINUE = new TextEncoder().encode("Continue\r\n");

/** The path of a request; `OPTIONS *` asks about the whole target (RFC 9110, section 9.3.7). */
const toPath = ({ path }: RequestHead): string => path === "*" ? "/" : path;

/** Returns field lines as pairs with lower-case names; each character is one byte (Latin-1). */
function parseFields(head: RequestHead): [string, string][] {
  return Array.from({ length: head.fieldCount }, (_, field) => [head.name(field).toLowerCase(), head.value(field)]);
}

/** Returns reason phrase and field lines as bytes: both are byte strings already. */
function serializeBlock({ statusText, headers }: Response): Uint8Array {
  let text = `${statusText}\r\n`;
  for (const [name, value] of headers) text += `${name}: ${value}\r\n`;
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
